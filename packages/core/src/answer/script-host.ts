import type {
  AnswerSegment,
  ApprovalRequest,
  EventPayload,
  Operation,
  Outcome,
  ScriptFailure,
  ScriptLanguage,
  RunIdentity,
  ScriptItemMembers,
} from '../protocol/index.js';
import type { Detector } from '../script/index.js';

/*
 * The port through which the player of an answer runs scripts and emits the run's events. A harness implements
 * `ScriptHost` for the text that it processes. An agent implements `ScriptHost` with its harness.
 */

/** A script of an answer. `failure`: the reason why the script cannot run. */
export interface ScriptBlock {
  readonly source: string;
  readonly language: ScriptLanguage;
  readonly item: ScriptItemMembers;
  readonly failure?: ScriptFailure;
}

interface ToolCall {
  readonly name: string;
  readonly input: unknown;
  readonly callId: string;
  /** The id of the script that saves the call, if the call is saved. Default: a new id. */
  readonly scriptId?: string | undefined;
}

export interface ScriptHost {
  /**
   * Runs a script. With a `refusal`, the host reports the refusal as the script's failure and runs nothing. Emits to
   * the answer's log.
   */
  runScript(block: ScriptBlock, refusal: ScriptFailure | undefined): Promise<ScriptEnd>;
  /** Makes a structured call. Does not reject if the tool fails. */
  callTool(call: ToolCall): Promise<CallEnd>;
  /** Creates a detector, which finds the scripts in one message of the answer. */
  detector(): Detector;
}

/** The end of a structured call. `scriptId` and `pendingApprovals`: set if a decision about the call is pending. */
type CallEnd = Operation & {
  readonly scriptId?: string;
  readonly pendingApprovals?: readonly ApprovalRequest[];
};

/**
 * The end of a script. `pending`: set if the script is suspended. Its suspension can be written once the rest of the
 * answer is known.
 */
export interface ScriptEnd {
  readonly outcome: Outcome;
  readonly pending?: Sealable;
}

/** A suspended script whose suspension is not written yet. */
export interface Sealable {
  /**
   * Writes and returns the suspension. `nextSeq`: the number of the first event after the resume. Rejects when the
   * store fails.
   */
  seal(nextSeq: number, rest: AnswerRest): Promise<string>;
}

/** The part of an answer that runs after a suspended script. */
export interface AnswerRest {
  readonly blocks: readonly ScriptBlock[];
  /** Replaces `blocks` in suspensions of an earlier release, which also held back the text between the scripts. */
  readonly segments?: readonly AnswerSegment[];
  readonly continueOnError: boolean;
  /** True: a script of the answer failed before the suspended one. */
  readonly failed: boolean;
}

/** Receives the payloads of a run's events, in order. The run's log puts them into envelopes. */
export interface PayloadSink {
  emit(payload: EventPayload): void;
  /** False: nobody receives the payloads, so the caller need not build them. */
  readonly hasListeners: boolean;
  /** The number of the next event. */
  readonly nextSeq: number;
  /** The run, turn and thread of the events. */
  readonly identity?: RunIdentity;
  /** Counts a tool call of the run. Returns false if the run's budget permits no further call. */
  readonly takeCall?: (() => boolean) | undefined;
  /**
   * Resolves when everything emitted so far is stored. A script is stored only after the events that name it: a process
   * that recovers the run from its events must find every script that may have made a call with effects.
   */
  readonly flush?: (() => Promise<void>) | undefined;
}
