import type { CompiledScript, Diagnostic, Outcome, PlannedCall, ScriptFailure } from '../../protocol/index.js';
import { newId } from '../../text/crypto.js';
import { roundMs } from './session-outcome.js';

/** Returns the outcome of a script that failed without a run. */
export function failedOutcome(error: ScriptFailure, scriptId = newId('scr')): Outcome {
  return plainOutcome(scriptId, { error }, undefined, 0, 'none');
}

interface PlainEnd {
  error?: ScriptFailure | undefined;
}

interface Compiling {
  cacheHit: boolean;
  diagnostics?: readonly Diagnostic[] | undefined;
  script?: CompiledScript | undefined;
}

/** Returns the outcome of a script that was checked or rejected, and did not run. */
export function plainOutcome(
  scriptId: string,
  end: PlainEnd,
  prepared: Compiling | undefined,
  durationMs: number,
  runtime: string,
): Outcome {
  const plan: readonly PlannedCall[] = prepared?.script?.plan ?? [];
  const common = {
    scriptId,
    output: '',
    logs: [],
    operations: [],
    diagnostics: [...(prepared?.script?.diagnostics ?? prepared?.diagnostics ?? [])],
    plan: [...plan],
    metadata: {
      durationMs: roundMs(durationMs),
      computeMs: 0,
      approvalWaitMs: 0,
      toolCallsMade: 0,
      memoryUsedMb: 0,
      cacheHit: prepared?.cacheHit ?? false,
      compilationCacheHit: false,
      runtime,
    },
  };
  return end.error === undefined
    ? { ...common, status: 'completed', value: undefined }
    : { ...common, status: 'failed', error: end.error };
}
