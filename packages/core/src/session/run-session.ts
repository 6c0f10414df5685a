import { ScriptSession } from './script-session.js';
import type { SessionEnd, SessionOptions } from './session-options.js';

/** Runs a script, and again if Toolscript itself failed and only reads had started. */
export async function runScriptSession(options: SessionOptions): Promise<SessionEnd> {
  const first = new ScriptSession(options, options.earlier?.attempt ?? 1);
  const outcome = await first.run();
  const isOurs = outcome.status === 'failed' && OUR_FAILURES.has(outcome.error.code);
  // defence: only-reads-are-repeated, without it: const mayRepeat = isOurs && options.earlier === undefined;
  const mayRepeat = isOurs && options.earlier === undefined && first.onlyReadsStarted();
  if (!mayRepeat || options.signal?.aborted === true) return outcome;
  const second = new ScriptSession(options, 2);
  return repeatable(await second.run(), second);
}

/** Codes of failures that the script did not cause. */
const OUR_FAILURES: ReadonlySet<string> = new Set(['HarnessInternalError', 'StoreError']);

/** A script that its store interrupted may run again if it has done nothing. */
function repeatable(end: SessionEnd, session: ScriptSession): SessionEnd {
  const isNothingDone = end.status === 'failed' && end.error.code === 'StoreError' && session.onlyReadsStarted();
  return isNothingDone ? { ...end, error: { ...end.error, retryable: true } } : end;
}
