import type { ApprovalPolicy } from './approvals.js';
import type { EventPayload, StreamEvent } from './events.js';
import type { HarnessMode, RunningOutcome } from './outcome.js';
import type { JsonObject } from './json.js';
import type { Limits, LimitsInput } from './limits.js';
import type { RunIdentity } from './run-events.js';
import type { ScriptOrigin } from './provenance.js';
import type { RunFence } from './store-shapes.js';
import type { ToolCallScope } from './tools.js';

/*
 * A run is one script, one structured call, or one answer with its scripts. Its options become one `RunContext`, which
 * every stage reads by reference. A new member needs a line in `RunOptions` and `RUN_OPTIONS`, or in `RunContext` if no
 * host sets it; then the compiler names the one function that makes a context: `harness/make-context.ts`.
 */

/** The options of one run. */
export interface RunOptions {
  /** The host's own context for tools. Never stored. */
  app?: unknown;
  /** The owner of the run. */
  principal?: string | undefined;
  /**
   * Members of the script's `context`, as plain JSON: for example `conversationId`, `workingDirectory`, `provider` and
   * `model`.
   */
  context?: JsonObject | undefined;
  /** Overrides of the harness's limits for this run. */
  limits?: Partial<LimitsInput> | undefined;
  signal?: AbortSignal | undefined;
  /** The claim under which the host executes the run. Tools whose stores belong to the host pass it to the stores. */
  fence?: RunFence | undefined;
  /**
   * Rejects if another process has claimed the run of `fence`. Called after a script is stored and before its first
   * effect, if the store of the scripts does not have the runs.
   */
  confirmHeld?: (() => Promise<void>) | undefined;
  /** Replaces the harness's approvals for this run. */
  approvals?: ApprovalPolicy | undefined;
  onEvent?: ((event: StreamEvent) => void) | undefined;
  /**
   * For a host that stores the run's log: receives the payloads of events without envelopes. `onEvent` receives the
   * events too.
   */
  sink?: PayloadSink | undefined;
}

const ALL_OPTIONS: Record<keyof RunOptions, true> = {
  app: true,
  principal: true,
  context: true,
  limits: true,
  signal: true,
  fence: true,
  confirmHeld: true,
  approvals: true,
  onEvent: true,
  sink: true,
};

/** The names of the options of a run. */
export const RUN_OPTIONS = Object.keys(ALL_OPTIONS) as readonly (keyof RunOptions)[];

/** Returns the options of a run among the members of a larger object. */
export function pickRunOptions(given: RunOptions): RunOptions {
  return Object.fromEntries(RUN_OPTIONS.map((name) => [name, given[name]]));
}

/**
 * The values that all stages of one run share. A context is frozen. A stage that needs another value makes a copy in a
 * function that is named after the reason.
 */
export interface RunContext extends Readonly<Omit<RunOptions, 'context' | 'limits' | 'onEvent' | 'sink'>> {
  /** The ids of the run's own events. The host's `sink` may belong to a larger run, with ids of its own. */
  readonly identity: RunIdentity;
  readonly mode: HarnessMode;
  readonly limits: Limits;
  /** The time in ms within which users can decide about a suspended call. Undefined: as long as the call is stored. */
  readonly approvalExpiryMs: number | undefined;
  /** The host's members of the script's `context`. */
  readonly context: JsonObject;
  readonly sink: PayloadSink;
  /**
   * True: the scripts are part of an answer whose rest is not known yet, so the reader of the answer stores a
   * suspension together with the rest.
   */
  readonly isInAnswer: boolean;
  /** True: the script repeats a text that its conversation has read. Every call of the script then needs a decision. */
  readonly repeatsReadText: boolean;
  /** The facts of the conversation for the labels of literals. Undefined: the model has read no untrusted text. */
  readonly origin: ScriptOrigin | undefined;
  /** Undefined: the caller waits for the end of the script. */
  readonly live: LiveScript | undefined;
}

/** A script that may continue after its caller has received an outcome. */
export interface LiveScript {
  readonly scriptId: string;
  /** Called when the script's session begins; a script that is run again has a second session. */
  follow(session: FollowedSession): void;
}

/** The session of a live script. */
export interface FollowedSession {
  /** The whole output, logs and operations so far. */
  soFar(): RunningOutcome;
  /** Stores the script, so that other processes can find it. A failure ends the script. */
  keep(): Promise<void>;
}

/** Returns the part of a context that tools see. */
export function callScope({ app, principal, sink }: RunContext): ToolCallScope {
  return { app, principal, threadId: sink.identity?.threadId };
}

/** Receives the payloads of a run's events, in order. The run's log puts them into envelopes. */
export interface PayloadSink {
  emit(payload: EventPayload): void;
  /** False: nobody receives the payloads, so the caller need not build them. */
  readonly hasListeners: boolean;
  /** The number of the next event. */
  readonly nextSeq: number;
  /** The run, turn and thread of the events. */
  readonly identity?: RunIdentity | undefined;
  /** Counts a tool call of the run. Returns false if the run's budget permits no further call. */
  readonly takeCall?: (() => boolean) | undefined;
  /**
   * Resolves when everything emitted so far is stored. A script is stored only after the events that name it: a process
   * that recovers the run from its events must find every script that may have made a call with effects.
   */
  readonly flush?: (() => Promise<void>) | undefined;
}
