import type { LogLevel } from './outcome.js';

/**
 * The port between a script's life (session/) and whatever executes it. The runtime is ignorant: code in,
 * calls out, a final report back. It knows no tool, no approval and no conversation.
 *
 * One run is a sequence of segments. A segment starts with the script's start or with `settle`, runs until
 * the guest has nothing left to do, and ends with exactly one `SandboxSegment`. Nothing leaves the guest
 * between two segments, so a segment that is thrown away has not happened.
 */
export interface SandboxRuntime {
  readonly name: string;
  /**
   * How host and guest speak to each other: the version of scripts that start here, and those of scripts that can go on
   * here. Left out: every script can.
   */
  readonly bridge?: { readonly version: number; readonly known: readonly number[] };
  /** Starts what is slow to start; resolves when a script would run at once. Idempotent. */
  warm(): Promise<void>;
  /** Never throws; a run that cannot start ends with a segment that says so. */
  run(job: SandboxJob, observer: SandboxObserver): SandboxRun;
  /**
   * Goes on with a run that `capture` ended, here or in another process. The run stands still when `onStart` is
   * called, and waits for `settle`. Where the capture does not fit, its only segment ends with `unrestorable`.
   * Left out by runtimes that capture nothing.
   */
  restore?(capture: SandboxCapture, job: SandboxJob, observer: SandboxObserver, images: ImageSource): SandboxRun;
  /** The bytes of every image that captures made now need, by name. */
  images?(): Promise<ReadonlyMap<string, Uint8Array>>;
  stats(): SandboxStats;
  /** Ends every run (their segments say `cancelled`) and frees threads and memory. Idempotent. */
  close(): Promise<void>;
}

/** A run that stands still, as data. Plain memory of the script: to be encrypted wherever it is kept. */
export interface SandboxCapture {
  readonly runtime: string;
  /** Names (SHA-256, hex) of what it can only be restored with. */
  readonly images: readonly string[];
  /** The runtime's own. */
  readonly state: Uint8Array;
}

/** Finds an image by its name. */
export type ImageSource = (name: string) => Promise<Uint8Array | undefined>;

export interface SandboxObserver {
  /** The wait for a free sandbox is over. Not called where the run never starts. */
  onStart(): void;
  /** Called asynchronously, never during `run` or `settle`. */
  onSegment(segment: SandboxSegment): void;
}

export interface SandboxJob {
  /** Unique. A detached task's id, as the script reads it, is `task_RUNID_CALLINDEX`. */
  readonly runId: string;
  /** Identifies `javascript`; runtimes cache what they make of it under this key. */
  readonly sha256: string;
  /** One parenthesised async function expression without parameters. */
  readonly javascript: string;
  /**
   * Where the pieces of `javascript` come from, for the stacks that the script reads: for each of its lines but the first,
   * a flat list of `column, source line, source column`, as JSON text of the differences from one to the next; see
   * `encodePositions` of the compiler. Left out: stacks count in `javascript`.
   */
  readonly positions?: string;
  /** Tool names as the script writes them, dots making namespaces. */
  readonly toolNames: readonly string[];
  /** JSON text of the script's `context`, without its functions. */
  readonly contextJson: string;
  /** `tools.spawn` exists. */
  readonly spawn: boolean;
  /** 32-bit words; the guest's random numbers come from nothing else. */
  readonly seed: readonly [number, number, number, number];
  /** The guest's clock at the start, in ms since 1970. */
  readonly clockMs: number;
  /** Wall time the first segment may take. */
  readonly wallMs: number;
  readonly limits: SandboxLimits;
  /** Whose run it is; waiting runs of different principals take turns. */
  readonly principal: string | undefined;
}

export interface SandboxLimits {
  readonly computeMs: number;
  readonly memoryMb: number;
  readonly maxStackBytes: number;
  readonly maxReturnBytes: number;
  readonly maxToolInputBytes: number;
  /** Tool calls beyond this are refused inside the guest, as a guard against floods. */
  readonly maxCalls: number;
  /** The same of `sleep`, `catalog` and `tools.spawn`. */
  readonly maxBuiltinCalls: number;
  readonly maxLogEvents: number;
  readonly maxLogBytes: number;
  readonly maxOutputBytes: number;
  readonly maxProgressEvents: number;
  readonly queueWaitMs: number;
}

export interface SandboxRun {
  /**
   * Delivers settlements and sets the guest's clock. Only between segments: after the last segment arrived
   * and before the next `settle`. `wallMs` bounds this segment's wall time.
   */
  settle(settlements: readonly Settlement[], clockMs: number, wallMs: number): void;
  /** Ends the run at once, also inside a loop. The final segment says `cancelled` with this reason. */
  cancel(reason: 'cancelled' | 'timeout'): void;
  /**
   * Ends the run without a segment and gives its state. Only between segments. Undefined where the runtime
   * cannot, or the run ended otherwise first; then the run goes on as if nobody had asked.
   */
  capture?(): Promise<SandboxCapture | undefined>;
}

/** What a call came to. `json` is the result's JSON text; an empty text is `undefined`. */
export type Settlement =
  | { readonly callIndex: number; readonly ok: true; readonly json: string }
  | { readonly callIndex: number; readonly ok: false; readonly error: GuestError };

/** Only this much of an error crosses to the guest. */
export interface GuestError {
  /** A catchable code; the class of the error in the guest. */
  readonly code: string;
  readonly message: string;
  readonly data?: unknown;
  /** The frames of the script that the error's stack shows: of the call. In the model's own source. */
  readonly stack?: string;
}

/** A call the guest made. `name` is a tool's name, or one of the runtime's own: `$sleep`, `$catalog`, `$spawn`, `$tasks`, `$retry`. */
export interface SandboxCall {
  /** 0, 1, 2 … in call order within the run. */
  readonly callIndex: number;
  readonly name: string;
  /** JSON text of the arguments; empty where they cannot be carried. */
  readonly argsJson: string;
  /** Why the arguments cannot be carried, naming the path. */
  readonly argsProblem?: string;
  /** Position in `javascript`, 1-based. 0 where it is not known. */
  readonly line: number;
  readonly column: number;
}

export interface SandboxSegment {
  readonly calls: readonly SandboxCall[];
  readonly logs: readonly { readonly level: LogLevel; readonly text: string }[];
  /** What `text()` said. */
  readonly output: string;
  readonly progress: readonly { readonly message: string; readonly kind: 'info' | 'warn' }[];
  /** Lines, texts and progress events that were over a limit and dropped in the guest. */
  readonly dropped: { readonly logs: number; readonly progress: number };
  /** Calls whose promise lost every race and which nothing in the script can observe any more. */
  readonly unobservable: readonly number[];
  /** Present in the last segment only. */
  readonly end?: SandboxEnd;
  readonly computeMs: number;
  readonly memoryBytes: number;
  readonly compilationCacheHit: boolean;
}

/** A position or text here counts in `javascript`; the session maps it to the model's own source. */
export type SandboxEnd =
  | { readonly type: 'returned'; readonly json: string | undefined; readonly unhandled: readonly GuestThrow[] }
  | { readonly type: 'threw'; readonly error: GuestThrow; readonly unhandled: readonly GuestThrow[] }
  /** The value cannot cross. */
  | { readonly type: 'unserializable'; readonly path: string; readonly reason: string }
  | {
      readonly type: 'return_too_large';
      readonly bytes: number;
      readonly head: string;
      readonly largestKeys: readonly string[];
    }
  /** Nothing is pending and the script has not ended: it waits for a promise that nobody will settle. */
  | { readonly type: 'stalled'; readonly unhandled?: readonly GuestThrow[] }
  | { readonly type: 'syntax'; readonly message: string; readonly line: number }
  | { readonly type: 'limit'; readonly limit: 'compute' | 'wall' | 'memory' | 'stack'; readonly error?: GuestThrow }
  | { readonly type: 'cancelled'; readonly reason: 'cancelled' | 'timeout' }
  | { readonly type: 'busy'; readonly waitedMs: number }
  /** What was captured cannot go on here. `detail` is for the host's log only. */
  | { readonly type: 'unrestorable'; readonly detail: string }
  /** The runtime itself failed. `detail` is for the host's log only. */
  | { readonly type: 'internal'; readonly detail: string };

/** Something a script threw. Every member was written by the guest and classifies nothing by itself. */
export interface GuestThrow {
  readonly name: string;
  readonly message: string;
  readonly stack: string;
  /** The call that rejected with this very error, by the record of the guest's bridge. */
  readonly callIndex?: number;
  /** A code that the guest's bridge gave the error (`ToolNotFoundError`), by its record. */
  readonly code?: string;
}

export interface SandboxStats {
  workers: number;
  /** Scripts with a live sandbox: those that execute, and those that wait for tools. */
  running: number;
  /** Of those that run: the ones whose code a thread executes or will execute next. Left out where it is not known. */
  executing?: number;
  /** Of those that run: the ones that stand still until a tool answers. Left out where it is not known. */
  awaitingTools?: number;
  /** Scripts without a sandbox, which wait for one. */
  waiting: number;
  /** The same as `waiting`. */
  queued?: number;
  /** Bytes that live sandboxes take, and may take together before scripts have to wait. Left out where it is not known. */
  memoryBytes?: number;
  maxMemoryBytes?: number;
  completed: number;
  /** Instances dropped after growth, a trap or a limit. */
  instancesDropped: number;
  workersReplaced: number;
  /** Scripts that computed for long while others waited, and went on in a slower lane. */
  moved: number;
}
