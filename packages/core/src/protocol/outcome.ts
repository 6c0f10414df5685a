import type { ApprovalRequest } from './approvals.js';
import type { ScriptFailure } from './errors.js';
import type { Operation } from './operations.js';
import type { Diagnostic, PlannedCall } from './script.js';

export type LogLevel = 'log' | 'info' | 'warn' | 'error' | 'debug';

export interface LogEntry {
  level: LogLevel;
  text: string;
  /** In ms after the script's start. */
  atMs: number;
}

export interface OutcomeMetadata {
  durationMs: number;
  computeMs: number;
  approvalWaitMs: number;
  toolCallsMade: number;
  memoryUsedMb: number;
  /** The whole compilation was found in the cache. */
  cacheHit: boolean;
  /** The runtime already had the script's machine code. */
  compilationCacheHit: boolean;
  runtime: string;
}

interface OutcomeCommon {
  scriptId: string;
  /** The text that `text()` and `emit()` appended. */
  output: string;
  logs: LogEntry[];
  operations: Operation[];
  diagnostics: Diagnostic[];
  plan: PlannedCall[];
  metadata: OutcomeMetadata;
}

/** The result of a script. A script's failure is data and never thrown. */
export type Outcome = OutcomeCommon &
  (
    | { status: 'completed'; value: unknown }
    | { status: 'failed'; error: ScriptFailure }
    | { status: 'suspended'; suspension: string; pendingApprovals: ApprovalRequest[] }
  );

export type HarnessMode = 'enabled' | 'dry-run' | 'disabled';

/** Replaces every script in text while scripts are disabled. */
export const DISABLED_WARNING = '[A script stood here. Scripts are switched off, so nothing of it ran.]';
