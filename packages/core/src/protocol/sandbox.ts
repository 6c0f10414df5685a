import type { LogLevel } from './outcome.js';

/**
 * The port between a script's lifecycle (session/) and its runtime. The runtime knows no tool, no approval and no
 * conversation: it receives code, emits calls, and reports the end.
 *
 * One run is a sequence of segments. A segment starts with the script's start or with `settle`, runs until the guest
 * has nothing left to do, and ends with exactly one `SandboxSegment`. The guest emits nothing before the end of a
 * segment, so a segment that is dropped has no effect.
 */
export interface SandboxRuntime {
  readonly name: string;
  /**
   * The protocol between host and guest: the version for scripts that start in this runtime, and the versions of
   * scripts that can resume in it. Undefined: every script can resume.
   */
  readonly bridge?: { readonly version: number; readonly known: readonly number[] } | undefined;
  /**
   * The features that this runtime does not have; scripts run correctly without them. Undefined: it has all features.
   */
  readonly lacks?: readonly RuntimeFeature[] | undefined;
  /**
   * Starts worker threads and modules that are slow to start. Resolves when a script would run at once. A repeated call
   * does nothing.
   */
  warm(): Promise<void>;
  /** Starts a run. Never throws. If the run cannot start, its only segment reports the reason. */
  run(job: SandboxJob, observer: SandboxObserver): SandboxRun;
  /**
   * Continues a run that `capture` ended, in this process or another one. The run is paused when `onStart` is called,
   * and waits for `settle`. If this runtime cannot restore the capture, the run's only segment ends with
   * `unrestorable`. Runtimes without `capture` have no `restore`.
   */
  restore?(capture: SandboxCapture, job: SandboxJob, observer: SandboxObserver, images: ImageSource): SandboxRun;
  /** Whether scripts can belong to a program; see `SandboxCell`. Default false. */
  readonly sharesMemory?: boolean | undefined;
  /** The bytes of every image that current captures need, by name. */
  images?(): Promise<ReadonlyMap<string, Uint8Array>>;
  stats(): SandboxStats;
  /**
   * Ends every run (with a last segment of the status `cancelled`) and frees worker threads and memory. A repeated call
   * does nothing.
   */
  close(): Promise<void>;
}

/**
 * `lost-races`: the runtime cannot find the calls that nothing in the script observes any longer, and such calls run to
 * their end.
 */
export type RuntimeFeature = 'lost-races';

/** A paused run as data. The data contains the script's plain memory: encrypt the data before you store it. */
export interface SandboxCapture {
  readonly runtime: string;
  /** Names (SHA-256, hex) of the images needed to restore the run. */
  readonly images: readonly string[];
  /** Opaque data of the runtime. */
  readonly state: Uint8Array;
}

/** Finds an image by its name. */
export type ImageSource = (name: string) => Promise<Uint8Array | undefined>;

/** The receiver of a run's segments. */
export interface SandboxObserver {
  /** Called when the wait for a free sandbox is over. Not called if the run never starts. */
  onStart(): void;
  /** Called asynchronously, never during `run` or `settle`. */
  onSegment(segment: SandboxSegment): void;
}

/** A script to run, and what it may use. */
export interface SandboxJob {
  /** The unique id of the run. A detached task's id, as the script reads it, is `task_RUNID_CALLINDEX`. */
  readonly runId: string;
  /** Identifies `javascript`; runtimes cache derived data under this key. */
  readonly sha256: string;
  /** One parenthesised async function expression without parameters. */
  readonly javascript: string;
  /**
   * Maps positions in `javascript` to the source, for the stacks that scripts read. The JSON text has, for each line
   * except the first, a flat list of `column, source line, source column`, as differences between entries. See
   * `encodePositions` of the compiler. Undefined: stacks refer to `javascript`.
   */
  readonly positions?: string | undefined;
  /** Tool names as scripts write them; dots separate namespaces. */
  readonly toolNames: readonly string[];
  /**
   * JSON text of the script's `context`, an object, without its functions and without `capabilities`. The runtime adds
   * `capabilities: { tools: toolNames }`, which replaces a member of the same name.
   */
  readonly contextJson: string;
  /** Whether `tools.spawn` exists. */
  readonly spawn: boolean;
  /** The seed of the guest's random numbers, in 32-bit words. The guest has no other source of them. */
  readonly seed: readonly [number, number, number, number];
  /** The guest's clock at the start, in ms since 1970. */
  readonly clockMs: number;
  /** Maximum wall time of the first segment. */
  readonly wallMs: number;
  readonly limits: SandboxLimits;
  /** The owner of the run. Queued runs of different principals take turns. */
  readonly principal: string | undefined;
  /** Undefined: the script shares nothing with other scripts. */
  readonly cell?: SandboxCell | undefined;
}

/** A script that belongs to a program: it starts in the memory that the program's previous script left. */
export interface SandboxCell {
  /** The number of the script in its program, from 1. */
  readonly number: number;
  /** Undefined: the script starts the program. */
  readonly heap?: CellMemory | undefined;
}

/** The memory of a program between two of its scripts. The data contains plain memory: encrypt it before you store it. */
interface CellMemory {
  /** Opaque data of the runtime: a whole memory, then differences from it in turn. */
  readonly parts: readonly Uint8Array[];
  /** Whether the script's own memory is captured as a difference from this memory. */
  readonly isBase: boolean;
}

/** The memory that a script of a program left for the next one. */
export interface SandboxHeap {
  /** Names (SHA-256, hex) of the images needed to restore the memory. */
  readonly images: readonly string[];
  /** Opaque data of the runtime. */
  readonly memory: Uint8Array;
  /** Whether `memory` is only the difference from the memory in which the script started. */
  readonly isDelta: boolean;
  /** The variables that the next script can use, each with the number of the script that declared it. */
  readonly names: Readonly<Record<string, number>>;
  /** The name under which the script's value was kept, because it was too large to return. */
  readonly kept?: string | undefined;
  /** The names under which results were kept, because they were too large to receive. */
  readonly handles?: Readonly<Record<string, KeptHandle>> | undefined;
  /** Bytes of the guest's heap. */
  readonly heapBytes: number;
}

/** A result that the host keeps for a script. */
export interface KeptHandle {
  /** The index of the call whose result it is. */
  readonly callIndex: number;
  /** The names of the members that lead to its rows. */
  readonly at: readonly string[];
}

/** The limits that a runtime enforces. Names that end in `Ms` are times in ms, `Mb` are MiB. */
export interface SandboxLimits {
  readonly computeMs: number;
  readonly memoryMb: number;
  readonly maxStackBytes: number;
  readonly maxReturnBytes: number;
  readonly maxToolInputBytes: number;
  /** The maximum number of tool calls. The guest rejects further calls, as a guard against floods. */
  readonly maxCalls: number;
  /** The maximum number of calls to `sleep`, timers, `catalog` and `tools.spawn`, without spawns of `exec`. */
  readonly maxBuiltinCalls: number;
  readonly maxLogEvents: number;
  readonly maxLogBytes: number;
  readonly maxOutputBytes: number;
  readonly maxProgressEvents: number;
  readonly queueWaitMs: number;
}

/** A run that has been started. */
export interface SandboxRun {
  /**
   * Delivers settlements, sets the guest's clock and starts the next segment. Call it only between segments: after the
   * last segment arrived and before the next `settle`. `wallMs` limits the wall time of the next segment.
   */
  settle(settlements: readonly Settlement[], clockMs: number, wallMs: number): void;
  /** Ends the run at once, even inside a loop. The final segment reports `cancelled` with this reason. */
  cancel(reason: 'cancelled' | 'timeout'): void;
  /**
   * Ends the run without a segment and returns its state. Call it only between segments. Returns undefined if the
   * runtime cannot capture the run, which then continues, or if the run ended before the capture.
   */
  capture?(): Promise<SandboxCapture | undefined>;
}

/** The result of a call. `json` is the result's JSON text; an empty text means `undefined`. */
export type Settlement =
  | { readonly callIndex: number; readonly ok: true; readonly json: string }
  | { readonly callIndex: number; readonly ok: false; readonly error: GuestError };

/** The only members of an error that reach the guest. */
export interface GuestError {
  /** A catchable code, which selects the error class in the guest. */
  readonly code: string;
  readonly message: string;
  readonly data?: unknown;
  /** The script's stack frames at the call. Positions refer to the model's own source. */
  readonly stack?: string | undefined;
}

/** A call by the guest. `name` is a tool's name, or a builtin: `$sleep`, `$catalog`, `$spawn`, `$tasks`, `$retry`. */
export interface SandboxCall {
  /** Counts the calls of the run in their order, starting with 0. */
  readonly callIndex: number;
  readonly name: string;
  /** JSON text of the arguments; empty if they cannot be serialized. */
  readonly argsJson: string;
  /** The reason why the arguments cannot be serialized, including the path. */
  readonly argsProblem?: string | undefined;
  /**
   * The members of the arguments that are base64 text because the script gave bytes: the keys that lead to each, and the
   * problem where the tool takes no base64.
   */
  readonly argsBytes?: readonly { readonly keys: readonly string[]; readonly problem: string }[] | undefined;
  /** The 1-based position of the call in `javascript`; 0 if unknown. */
  readonly line: number;
  readonly column: number;
}

/** Everything that the guest emitted in one segment. */
export interface SandboxSegment {
  readonly calls: readonly SandboxCall[];
  readonly logs: readonly { readonly level: LogLevel; readonly text: string }[];
  /** The text that `text()` appended. */
  readonly output: string;
  readonly progress: readonly { readonly message: string; readonly kind: 'info' | 'warn' }[];
  /** The numbers of log lines and progress events that the guest dropped because of a limit. */
  readonly dropped: { readonly logs: number; readonly progress: number };
  /** The indexes of calls whose promises lost every race, so that nothing in the script can observe them any longer. */
  readonly unobservable: readonly number[];
  /** Present in the last segment only. */
  readonly end?: SandboxEnd | undefined;
  /** Present in the last segment of a script of a program that ended by itself. */
  readonly heap?: SandboxHeap | undefined;
  readonly computeMs: number;
  readonly memoryBytes: number;
  readonly compilationCacheHit: boolean;
}

/** Positions and texts refer to `javascript`; the session maps them to the model's own source. */
export type SandboxEnd =
  | { readonly type: 'returned'; readonly json: string | undefined; readonly unhandled: readonly GuestThrow[] }
  | { readonly type: 'threw'; readonly error: GuestThrow; readonly unhandled: readonly GuestThrow[] }
  /** The value cannot be serialized. */
  | { readonly type: 'unserializable'; readonly path: string; readonly reason: string }
  | {
      readonly type: 'return_too_large';
      readonly bytes: number;
      readonly head: string;
      readonly largestKeys: readonly string[];
    }
  /** No call or timer is pending and the script has not ended: the script awaits a promise that never settles. */
  | { readonly type: 'stalled'; readonly unhandled?: readonly GuestThrow[] | undefined }
  | { readonly type: 'syntax'; readonly message: string; readonly line: number }
  | {
      readonly type: 'limit';
      readonly limit: 'compute' | 'wall' | 'memory' | 'stack';
      readonly error?: GuestThrow | undefined;
    }
  | { readonly type: 'cancelled'; readonly reason: 'cancelled' | 'timeout' }
  | { readonly type: 'busy'; readonly waitedMs: number }
  /** This runtime cannot restore the capture. `detail` is for the host's log only. */
  | { readonly type: 'unrestorable'; readonly detail: string }
  /** The runtime itself failed. `detail` is for the host's log only. */
  | { readonly type: 'internal'; readonly detail: string };

/** A value that a script threw. The guest wrote every member, so the host must not trust any single member. */
export interface GuestThrow {
  readonly name: string;
  readonly message: string;
  readonly stack: string;
  /** The index of the call that rejected with this exact error, as the guest's bridge recorded it. */
  readonly callIndex?: number | undefined;
  /** The code that the guest's bridge recorded when it created the error, such as `ToolNotFoundError`. */
  readonly code?: string | undefined;
}

/** The use of a runtime now, and its work since its start. */
export interface SandboxStats {
  workers: number;
  /** Scripts with a live sandbox: executing, or waiting for tools. */
  running: number;
  /** Running scripts whose code a worker thread executes or will execute next. Undefined if unknown. */
  executing?: number | undefined;
  /** Running scripts that are paused until a tool answers. Undefined if unknown. */
  awaitingTools?: number | undefined;
  /** Scripts that wait for a sandbox. */
  waiting: number;
  /** Equals `waiting`. */
  queued?: number | undefined;
  /** Bytes used by live sandboxes, and the maximum above which new scripts wait. Undefined if unknown. */
  memoryBytes?: number | undefined;
  maxMemoryBytes?: number | undefined;
  completed: number;
  /** Sandbox instances that were dropped because they grew, trapped or reached a limit. */
  instancesDropped: number;
  workersReplaced: number;
  /** Scripts moved to a slower lane because they computed for long while others waited. */
  moved: number;
}
