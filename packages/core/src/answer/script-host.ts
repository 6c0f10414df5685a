import type {
  ApprovalRequest,
  Operation,
  Outcome,
  ScriptFailure,
  ScriptLanguage,
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
  readonly failure?: ScriptFailure | undefined;
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
  readonly scriptId?: string | undefined;
  readonly pendingApprovals?: readonly ApprovalRequest[] | undefined;
};

/**
 * The end of a script. `pending`: set if the script is suspended. Its suspension can be written once the rest of the
 * answer is known.
 */
export interface ScriptEnd {
  readonly outcome: Outcome;
  readonly pending?: Sealable | undefined;
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
  readonly continueOnError: boolean;
  /** True: a script of the answer failed before the suspended one. */
  readonly failed: boolean;
}
