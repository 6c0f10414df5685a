import type { ApprovalRequest } from './approvals.js';
import type { ScriptFailure } from './errors.js';
import type { Operation } from './operations.js';
import type { Diagnostic, PlannedCall } from './script.js';

export type LogLevel = 'log' | 'info' | 'warn' | 'error' | 'debug';

/** One line that a script wrote with `console`. */
export interface LogEntry {
  level: LogLevel;
  text: string;
  /** The time of the entry, in ms after the script's start. */
  atMs: number;
}

/** The use of time, calls and memory by a script. Names that end in `Ms` are times in ms. */
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

/** A variable, function, class or enum that later scripts of a program can use. */
export interface ScopeEntry {
  name: string;
  type: string;
}

/**
 * The result of a script. A script's failure is data and never thrown. `T` is the type that the host expects of
 * `value`; nothing checks it. A member that a status lacks may be read, and is undefined.
 *
 * @example
 *
 * ```ts
 * const outcome = await harness.runScript<number>('return (await tools.getWeather({ city: "Oslo" })).celsius');
 * if (outcome.status === 'completed') console.log(outcome.value);
 * else console.log(outcome.error?.hint ?? outcome.pendingApprovals?.map(({ rendered }) => rendered));
 * ```
 */
export type Outcome<T = unknown> = {
  scriptId: string;
  /** The text that `text()` and `emit()` appended. */
  output: string;
  logs: LogEntry[];
  operations: Operation[];
  diagnostics: Diagnostic[];
  plan: PlannedCall[];
  metadata: OutcomeMetadata;
  /** True: the value, the output, the logs or the error may contain text of unknown authors. */
  untrusted?: true | undefined;
  /**
   * In a harness with `scripts: 'one-program'`: the heap from which the next script can start, as the option `heap`. It
   * contains the variables that are in scope.
   */
  heap?: string | undefined;
  /** The variables that the script added, with their types in TypeScript. */
  scope?: readonly ScopeEntry[] | undefined;
  /** The tools that the script found with `catalog.search` and did not call, best first. At most 5. */
  found?: readonly string[] | undefined;
} & (
  | { status: 'completed'; value: T; error?: undefined; suspension?: undefined; pendingApprovals?: undefined }
  | { status: 'failed'; value?: undefined; error: ScriptFailure; suspension?: undefined; pendingApprovals?: undefined }
  | {
      status: 'suspended';
      value?: undefined;
      error?: undefined;
      suspension: string;
      pendingApprovals: ApprovalRequest[];
    }
  | {
      /**
       * The script has run longer than `yieldAfterMs` and continues; `harness.waitScript(scriptId)` answers its end.
       * `output` and `logs` are what is new since the script's last `running` outcome. A call that runs has the status
       * `unknown`.
       */
      status: 'running';
      value?: undefined;
      error?: undefined;
      suspension?: undefined;
      pendingApprovals?: undefined;
    }
);

/** The outcome of a script that still runs. */
export type RunningOutcome = Extract<Outcome, { status: 'running' }>;

/** The modes, ordered from the most restrictive to the least restrictive. */
export const HARNESS_MODES = ['disabled', 'dry-run', 'enabled'] as const;
/**
 * `disabled`: scripts fail. `dry-run`: scripts are checked and planned, and nothing runs. `enabled`: scripts run.
 */
export type HarnessMode = (typeof HARNESS_MODES)[number];

/** The more restrictive mode. */
export function narrowerMode(left: HarnessMode, right: HarnessMode | undefined): HarnessMode {
  return HARNESS_MODES.find((mode) => mode === left || mode === right) ?? left;
}

/** Replaces every script in text while scripts are disabled. */
export const DISABLED_WARNING = '[Scripts are disabled, so the script at this place did not run.]';
