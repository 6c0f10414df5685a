import type { ApprovalRequest } from './approvals.js';
import type { ScriptFailure } from './errors.js';
import type { Operation } from './operations.js';
import type { Diagnostic, PlannedCall } from './script.js';

export type LogLevel = 'log' | 'info' | 'warn' | 'error' | 'debug';

export interface LogEntry {
  level: LogLevel;
  text: string;
  /** The time of the entry, in ms after the script's start. */
  atMs: number;
}

export interface OutcomeMetadata {
  durationMs: number;
  computeMs: number;
  approvalWaitMs: number;
  toolCallsMade: number;
  memoryUsedMb: number;
  /** Whether the whole compilation was found in the cache. */
  cacheHit: boolean;
  /** Whether the runtime already had the script's machine code. */
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

/**
 * The result of a script. A script's failure is data and never thrown. `T` is the type that the host expects of
 * `value`; nothing checks it. `value` may be read in every state: it is undefined unless the script has completed.
 */
export type Outcome<T = unknown> = OutcomeCommon &
  (
    | { status: 'completed'; value: T }
    | { status: 'failed'; value?: undefined; error: ScriptFailure }
    | { status: 'suspended'; value?: undefined; suspension: string; pendingApprovals: ApprovalRequest[] }
  );

/** The modes, ordered from the most restrictive to the least restrictive. */
export const HARNESS_MODES = ['disabled', 'dry-run', 'enabled'] as const;
export type HarnessMode = (typeof HARNESS_MODES)[number];

/** The more restrictive mode. */
export function narrowerMode(left: HarnessMode, right: HarnessMode | undefined): HarnessMode {
  return HARNESS_MODES.find((mode) => mode === left || mode === right) ?? left;
}

/** Replaces every script in text while scripts are disabled. */
export const DISABLED_WARNING = '[Scripts are disabled, so the script at this place did not run.]';
