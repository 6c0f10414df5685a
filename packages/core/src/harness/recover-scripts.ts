import type { HarnessStore, Outcome } from '../protocol/index.js';
import type { Harness, ResumeOptions } from './harness-types.js';

/** Options of `recoverScripts`. */
export interface RecoverScriptsOptions extends Omit<ResumeOptions, 'principal' | 'force'> {
  /** Maximum number of scripts that run concurrently. Each script needs a sandbox. Default 8. */
  atOnce?: number | undefined;
  /** Receives each outcome, in the order of completion. */
  onOutcome?: ((outcome: Outcome) => void) | undefined;
}

/**
 * Recovers every interrupted script of a store, for example after a restart: a few at a time, each with its own
 * principal. If several processes recover the scripts at once, each script runs in one of them. Returns the number of
 * attempts. Rejects if the store cannot be listed.
 *
 * @example
 *
 * ```ts
 * await recoverScripts(harness, store, { onOutcome: ({ scriptId, status }) => console.log(scriptId, status) });
 * ```
 */
export async function recoverScripts(
  harness: Pick<Harness, 'recover'>,
  store: HarnessStore,
  { atOnce = 8, onOutcome, ...run }: RecoverScriptsOptions = {},
): Promise<number> {
  const { scripts } = await store.journal.list({ state: 'interrupted' });
  let next = 0;
  const recoverNext = async (): Promise<void> => {
    for (let script = scripts[next++]; script !== undefined; script = scripts[next++]) {
      const { scriptId, principal } = script;
      const outcome = await harness.recover(scriptId, { ...run, ...(principal === undefined ? {} : { principal }) });
      onOutcome?.(outcome);
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, atOnce) }, recoverNext));
  return scripts.length;
}
