import type { Diagnostic, Operation, OutcomeMetadata } from '../../protocol/index.js';
import { callIdIndex } from '../facade/index.js';
import type { ScriptOutput } from './script-output.js';
import { scriptStart } from './sandbox-job.js';
import type { SessionOptions, SuspendedEnd } from './session-options.js';
import type { SuspendedScript } from './suspended-script.js';

/** The data of a session whose script is suspended. */
interface SuspensionParts extends Pick<SuspendedScript, 'tape' | 'capture' | 'calls' | 'open' | 'rejected' | 'spent'> {
  attempt: number;
  operations: Operation[];
  output: ScriptOutput;
  notes: readonly Diagnostic[];
  metadata: OutcomeMetadata;
}

export function suspendedEnd(options: SessionOptions, parts: SuspensionParts): SuspendedEnd {
  const { scriptId, compiled } = options.script;
  const { attempt, operations, output, notes, metadata, ...stored } = parts;
  const { calls } = stored;
  return {
    status: 'suspended',
    suspended: {
      ...stored,
      start: scriptStart(options, attempt),
      running: calls.ended.filter(({ status }) => status === 'detached').map(({ callId }) => callIdIndex(callId)),
      voice: output.state(),
      notes,
    },
    pendingApprovals: calls.waiting.map(({ request }) => request),
    scriptId,
    output: output.text,
    logs: output.allLogs(),
    operations,
    diagnostics: [...compiled.diagnostics, ...notes],
    plan: [...compiled.plan],
    metadata,
  };
}
