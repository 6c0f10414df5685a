import { useState } from 'react';
import type { Rule } from '@toolscript/client';
import { errorText, useSession } from '../state/session.ts';
import { useLoaded } from './use-loaded.ts';

/** The calls that run without asking, because the user chose so. */
export function RememberedRules() {
  const { client, notice } = useSession();
  const [version, setVersion] = useState(0);
  const { value: rules, error } = useLoaded(async () => (await client.rules.list()).data, String(version));
  const remove = async ({ ruleId, covers }: Rule) => {
    try {
      await client.rules.delete(ruleId);
      notice.set(`Toolscript asks again about: ${covers}`);
    } catch (failure) {
      notice.set(errorText(failure));
    }
    setVersion((before) => before + 1);
  };
  return (
    <section aria-label="Remembered approvals">
      <p className="dim">
        These calls run without asking in this server’s workspace. A change applies to runs that begin or resume later.
      </p>
      {error !== undefined && <p className="error-text">{errorText(error)}</p>}
      {rules?.length === 0 && <p className="empty">No calls are always allowed.</p>}
      {rules?.map((rule) => (
        <article key={rule.ruleId} className="card setting setting-row">
          <div>
            <h2>{rule.covers}</h2>
            <p className="dim">since {new Date(rule.rememberedAt).toLocaleString()}</p>
          </div>
          <button type="button" onClick={() => void remove(rule)} aria-label={`Ask again for ${rule.covers}`}>
            Ask again
          </button>
        </article>
      ))}
    </section>
  );
}
