import type {
  CompiledScript,
  Diagnostic,
  Outcome,
  PlannedCall,
  RunningOutcome,
  ScriptFailure,
} from '../../protocol/index.js';
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
  script?: Pick<CompiledScript, 'plan' | 'diagnostics'> | undefined;
}

/** Returns the outcome of a script that was checked or rejected, and did not run. */
export function plainOutcome(
  scriptId: string,
  end: PlainEnd,
  prepared: Compiling | undefined,
  durationMs: number,
  runtime: string,
): Outcome {
  const facts = plainFacts(scriptId, prepared, durationMs, runtime);
  return end.error === undefined
    ? { ...facts, status: 'completed', value: undefined }
    : { ...facts, status: 'failed', error: end.error };
}

/** Returns the outcome of a script that runs, and of which nothing else is known. */
export function plainRunning(
  scriptId: string,
  prepared: Compiling | undefined,
  durationMs: number,
  runtime: string,
): RunningOutcome {
  return { ...plainFacts(scriptId, prepared, durationMs, runtime), status: 'running' };
}

function plainFacts(scriptId: string, prepared: Compiling | undefined, durationMs: number, runtime: string) {
  const plan: readonly PlannedCall[] = prepared?.script?.plan ?? [];
  return {
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
}
