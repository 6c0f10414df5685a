import type { Outcome } from '../protocol/index.js';
import { claimRefusal, RESUMED_ONCE } from './durability/claims.js';
import { claimInProcess } from './durability/process-suspensions.js';
import { openFor } from './resumption.js';
import {
  cancelledOutcome,
  mayContinue,
  type AskedScript,
  type RunningScript,
  type WaitTime,
} from './running-scripts.js';
import type { HarnessServices } from './script-run.js';
import { cancelStored, waitForStored } from './stored-outcomes.js';

/** Waits for the end of a script of this process or of the store. */
export async function waitForScript(services: HarnessServices, asked: AskedScript, wait: WaitTime): Promise<Outcome> {
  const script = services.running.find(asked);
  if (script === undefined) return waitForStored(services, asked, wait);
  const startedAtMs = performance.now();
  const outcome = await script.answer(wait);
  if (services.keeping === undefined || !mayContinue(outcome)) return outcome;
  const { forMs, signal } = wait;
  const leftMs = forMs === undefined ? undefined : forMs - (performance.now() - startedAtMs);
  return waitForStored(services, asked, { forMs: leftMs, signal });
}

/** Cancels a script of this process or of the store, and returns its end. A script that has ended stays as it is. */
export async function cancelScript(services: HarnessServices, asked: AskedScript): Promise<Outcome> {
  const script = services.running.find(asked);
  const outcome = await script?.cancel();
  if (script === undefined || outcome === undefined) return cancelStored(services, asked);
  if (!mayContinue(outcome)) return outcome;
  return services.keeping === undefined ? cancelSuspended(services, script, outcome) : cancelStored(services, asked);
}

/** Cancels a script that is suspended in the memory of this process. */
function cancelSuspended(services: HarnessServices, script: RunningScript, suspended: Outcome): Outcome {
  const { scriptId, principal } = script;
  const text = services.inProcess?.get(scriptId);
  const opened = text === undefined ? claimRefusal(scriptId, RESUMED_ONCE) : openFor(services, text, principal);
  if ('outcome' in opened) return opened.outcome;
  if (!claimInProcess(opened.header)) return claimRefusal(scriptId, RESUMED_ONCE).outcome;
  services.inProcess?.delete(scriptId);
  return (script.end = cancelledOutcome(suspended));
}
