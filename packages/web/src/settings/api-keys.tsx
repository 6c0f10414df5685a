import { useState, type FormEvent } from 'react';
import type { ApiKey, ApiKeyDraft } from '@toolscript/client';
import { CodeLines } from '../parts/code-lines.tsx';
import { CopyButton } from '../parts/copy-button.tsx';
import { ConfirmDialog } from '../parts/confirm-dialog.tsx';
import { errorText, useSession } from '../state/session.ts';
import { useLoaded } from './use-loaded.ts';

const SCOPES = [
  { scope: 'read', about: 'see threads, runs and approvals' },
  { scope: 'run', about: 'send prompts, rename and delete threads' },
  { scope: 'approve', about: 'decide calls that wait' },
  { scope: 'admin', about: 'everything, and these settings' },
] as const;

const DAY_MS = 86_400_000;

/** Lists, creates and revokes the API keys. */
export function ApiKeys() {
  const { client } = useSession();
  const [version, setVersion] = useState(0);
  const [made, setMade] = useState<{ name: string; token: string }>();
  const [revoking, setRevoking] = useState<ApiKey>();
  const { value: keys, error } = useLoaded(async () => (await client.keys.list()).data, String(version));
  const reload = () => setVersion((before) => before + 1);
  return (
    <section aria-label="API keys">
      <p className="dim">Other machines and programs use this server with a key of their own.</p>
      {error !== undefined && <p className="error-text">{errorText(error)}</p>}
      {made !== undefined && (
        <div className="card setting" role="status">
          <h2>The key {made.name}</h2>
          <p>Copy it now: it is shown only this once.</p>
          <CodeLines text={made.token} label="The new key" />
          <CopyButton text={made.token} label="Copy the key" />
        </div>
      )}
      {keys?.length === 0 && <p className="empty">There are no keys.</p>}
      {keys?.map((key) => (
        <KeyEntry key={key.keyId} apiKey={key} onRevoke={() => setRevoking(key)} />
      ))}
      {keys !== undefined && (
        <NewKeyForm
          onMade={(name, token) => {
            setMade({ name, token });
            reload();
          }}
        />
      )}
      {revoking !== undefined && (
        <RevokeDialog
          apiKey={revoking}
          onClose={() => {
            setRevoking(undefined);
            reload();
          }}
        />
      )}
    </section>
  );
}

function KeyEntry({ apiKey, onRevoke }: { readonly apiKey: ApiKey; readonly onRevoke: () => void }) {
  const { keyId, name, principal, scopes, createdAt, expiresAt, isActive } = apiKey;
  return (
    <article className="card setting setting-row">
      <div>
        <h2>
          {name} {!isActive && <span className="tag">expired</span>}
        </h2>
        <p className="dim">
          {keyId} · may {scopes.join(', ')} · for {principal} · made {new Date(createdAt).toLocaleDateString()}
          {expiresAt !== undefined && ` · until ${new Date(expiresAt).toLocaleDateString()}`}
        </p>
      </div>
      <button type="button" onClick={onRevoke} aria-label={`Revoke ${name}`}>
        Revoke…
      </button>
    </article>
  );
}

function NewKeyForm({ onMade }: { readonly onMade: (name: string, token: string) => void }) {
  const { client } = useSession();
  const [error, setError] = useState<string>();
  const add = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const draft = draftIn(new FormData(form));
    try {
      const { token } = await client.keys.add(draft);
      setError(undefined);
      form.reset();
      onMade(draft.name, token);
    } catch (failure) {
      setError(errorText(failure));
    }
  };
  return (
    <form className="card setting" aria-label="New key" onSubmit={(event) => void add(event)}>
      <h2>New key</h2>
      <NewKeyFields />
      {error !== undefined && (
        <p className="error-text" role="alert">
          {error}
        </p>
      )}
      <button type="submit" className="primary">
        Make a key
      </button>
    </form>
  );
}

function draftIn(fields: FormData): ApiKeyDraft {
  const text = (name: string) => String(fields.get(name)).trim();
  const [principal, days] = [text('principal'), Number(text('days'))];
  return {
    name: text('name'),
    scopes: SCOPES.map(({ scope }) => scope).filter((scope) => fields.has(scope)),
    ...(principal === '' ? {} : { principal }),
    ...(days > 0 ? { expiresAt: Date.now() + days * DAY_MS } : {}),
  };
}

function NewKeyFields() {
  return (
    <>
      <div className="filters">
        <label className="field">
          Name
          <input name="name" required maxLength={100} placeholder="ci" />
        </label>
        <label className="field">
          Acts for
          <input name="principal" maxLength={100} placeholder="its own name" />
        </label>
        <label className="field">
          Days until it expires
          <input name="days" type="number" min={1} max={36_500} placeholder="never" />
        </label>
      </div>
      <fieldset className="scopes">
        <legend>It may</legend>
        {SCOPES.map(({ scope, about }) => (
          <label key={scope} className="check">
            <input type="checkbox" name={scope} defaultChecked={scope === 'read' || scope === 'run'} />
            <span>
              <strong>{scope}</strong>: {about}
            </span>
          </label>
        ))}
      </fieldset>
    </>
  );
}

function RevokeDialog({ apiKey, onClose }: { readonly apiKey: ApiKey; readonly onClose: () => void }) {
  const { client, notice } = useSession();
  const revoke = async () => {
    await client.keys.revoke(apiKey.keyId);
    notice.set(`The key ${apiKey.name} is revoked.`);
  };
  return (
    <ConfirmDialog title={`Revoke the key ${apiKey.name}?`} action="Revoke" onConfirm={revoke} onClose={onClose}>
      <p>Its next request is refused, and its streams end.</p>
    </ConfirmDialog>
  );
}
