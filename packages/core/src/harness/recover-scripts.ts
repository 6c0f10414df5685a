import type { HarnessStore, Outcome } from '../protocol/index.js';
import type { Harness, ResumeOptions } from './harness-types.js';

export interface RecoverScriptsOptions extends Omit<ResumeOptions, 'principal' | 'force'> {
  /** Scripts that go on side by side: each takes a sandbox. Default 8. */
  atOnce?: number;
  /** Told what became of each, in the order of their ends. */
  onOutcome?: (outcome: Outcome) => void;
}

/**
 * Goes on with every script of a store that was cut off, as after a restart: a few at a time, each as its own
 * principal. Of several processes that do so at once, each script goes on in one. Gives how many were tried. Rejects
 * where the store cannot be listed.
 */
export async function recoverScripts(
  harness: Pick<Harness, 'recover'>,
  store: HarnessStore,
  { atOnce = 8, onOutcome, ...run }: RecoverScriptsOptions = {},
): Promise<number> {
  const { scripts } = await store.journal.list({ state: 'interrupted' });
  let next = 0;
  const goOn = async (): Promise<void> => {
    for (let script = scripts[next++]; script !== undefined; script = scripts[next++]) {
      const { scriptId, principal } = script;
      const outcome = await harness.recover(scriptId, { ...run, ...(principal === undefined ? {} : { principal }) });
      onOutcome?.(outcome);
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, atOnce) }, goOn));
  return scripts.length;
}
