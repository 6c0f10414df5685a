import { scriptFailure, type ScriptFailure } from './errors.js';

/** Returns the failure of a script that waited for its turn in a shared stage, and got none. */
export function busyFailure(stage: 'sandbox' | 'compiler' | 'type checker', waitedMs: number): ScriptFailure {
  return scriptFailure('HarnessBusyError', `No ${stage} became free within ${waitedMs} ms. Send the script again.`, {
    metadata: { waitedMs },
  });
}
