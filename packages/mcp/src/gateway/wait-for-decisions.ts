import { setTimeout as sleep } from 'node:timers/promises';
import type { KeptScriptDetails } from '@toolscript/core';
import type { GatewayServices } from './services.js';

const POLL_MS = 250;
const RESUME_WAIT_MS = 45_000;

/** The result of the wait: the script can be resumed, or this report replaces its outcome. */
type DecisionWait = { readonly decided: true } | { readonly report: string };

/** Waits until every pending call of a stored script has been decided, in this process or in another one. */
export async function waitForDecisions(
  { harness, principal, resumeWaitMs = RESUME_WAIT_MS, howToDecide }: GatewayServices,
  scriptId: string,
  signal: AbortSignal,
): Promise<DecisionWait> {
  if (!harness.hasStore) return { report: 'This server stores no suspended scripts. Run the script again.' };
  const until = performance.now() + resumeWaitMs;
  for (;;) {
    const details = await harness.inspect(scriptId, principal === undefined ? {} : { principal });
    const waited = judge(scriptId, details);
    if (waited !== undefined) return waited;
    if (performance.now() >= until || signal.aborted) {
      const where = howToDecide === undefined ? '' : ` The user can decide here: ${howToDecide(scriptId)}.`;
      return {
        report: `No user has decided about the script ${scriptId} yet.${where} Call resume_script again to wait.`,
      };
    }
    await sleep(POLL_MS, undefined, { signal }).catch(() => {});
  }
}

/** The result of the wait; undefined if the script still waits, or another process runs it now. */
function judge(scriptId: string, details: KeptScriptDetails | undefined): DecisionWait | undefined {
  if (details === undefined)
    return { report: `There is no stored script "${scriptId}". Use the id from the result of run_script.` };
  const { state, approvals, ended, operations } = details;
  if (state === 'suspended')
    return approvals.every(({ decided }) => decided !== undefined) ? { decided: true } : undefined;
  if (state === 'running') return undefined;
  if (state === 'ended') {
    const why = ended?.message === undefined ? '' : `: ${ended.message}`;
    const calls = operations.map(({ tool, status }) => `${tool} ${status}`).join(', ');
    return {
      report: `Another process, such as a terminal, has resumed the script, and it has ended (${ended?.status ?? 'ended'}${why}). That process has the result. The script's calls: ${calls === '' ? 'none' : calls}.`,
    };
  }
  return { report: `The script ${scriptId} cannot be resumed, because it is ${state}. Run the script again.` };
}
