import type {
  ApprovalPolicy,
  HarnessMode,
  JsonObject,
  Limits,
  LimitsInput,
  Operation,
  Outcome,
  SandboxStats,
  ScriptFailure,
  ScriptItemMembers,
  StreamEvent,
  Tool,
} from '../protocol/index.js';
import type { CompilerStats, Detector, DetectorOptions } from '../script/index.js';
import type { CheckPoolStats } from '../script/type-checker/index.js';
import type { PendingCall } from '../run/saved-call.js';
import type { RunScriptTool } from './as-tool.js';
import type { KeptScriptDetails } from '../durability/kept-scripts.js';
import type { ScriptCarrier } from '../prompt/instructions.js';
import type { AnswerText, PayloadSink } from '../answer/index.js';
import type { Decisions } from '../run/resumption.js';

/** What one run may say beside its script. */
export interface RunOptions {
  /** The host's own context for tools. Never stored. */
  app?: unknown;
  /** Whose run it is. */
  principal?: string;
  /** Members of the script's `context`: conversationId, workingDirectory, provider, model … Plain JSON. */
  context?: JsonObject;
  /** Changes to the harness's limits, for this run. */
  limits?: Partial<LimitsInput>;
  signal?: AbortSignal;
  /** Replaces the harness's approvals for this run. */
  approvals?: ApprovalPolicy;
  onEvent?: (event: StreamEvent) => void;
  /** For a host that keeps the run's log: receives the events' payloads, without envelopes, beside `onEvent`. */
  sink?: PayloadSink;
}

export interface AsToolOptions extends RunOptions {
  /**
   * Told what became of each script. Without it, and without a store, a suspension would be lost: calls that nobody
   * can decide about are denied then.
   */
  onOutcome?: (outcome: Outcome) => void;
}

export interface RunScriptOptions extends RunOptions {
  mode?: HarnessMode;
  /** Default 'ts', which JavaScript is too. */
  language?: 'ts' | 'js';
  /** Names for the run's events and the script's context; made up where left out. */
  threadId?: string;
  turnId?: string;
  /** For a host with a conversation of its own: members of the script's item. Its output then has a `report`. */
  item?: ScriptItemMembers;
  /** Why the script must not run: it is told, as the script's failure, and nothing runs. */
  refusal?: ScriptFailure;
}

export interface CallToolOptions extends RunOptions {
  /** The call's name in events and operations; made up where left out. */
  callId?: string;
  /** Names for the events of the call; made up where left out. */
  threadId?: string;
  turnId?: string;
}

export interface ProcessTextOptions extends RunOptions {
  mode?: HarnessMode;
  /** Go on with later scripts after one has failed. Default false. */
  continueOnError?: boolean;
  /**
   * Tell a script's source while it is typed: its item starts when the block opens, and `item_delta`s bring the
   * source before the `item_done`. Default false: `item_start` and `item_done` come together, when it is whole.
   */
  scriptSourceDeltas?: boolean;
  /** Called with the outcome of each script; of a suspended one, at the end of the answer, with its `suspension`. */
  onOutcome?: (outcome: Outcome) => void;
  /** Names for the run's events; made up where left out. */
  runId?: string;
  threadId?: string;
  turnId?: string;
}

/** For a script that goes on: what it was started with, beside this, it still has. */
export interface ResumeOptions {
  /** The host's own context for tools. */
  app?: unknown;
  /** Whose run it is: the same as when it was put aside. */
  principal?: string;
  signal?: AbortSignal;
  /** Replaces the harness's approvals. A call that it denies does not run, also where somebody has approved it. */
  approvals?: ApprovalPolicy;
  /** Changes to the harness's limits. Of each limit that either sets, and that of the script, the smaller one holds. */
  limits?: Partial<LimitsInput>;
  onEvent?: (event: StreamEvent) => void;
  /** For a host that keeps the run's log: receives the events' payloads, without envelopes, beside `onEvent`. */
  sink?: PayloadSink;
  /**
   * Takes the script from a holder who may still live: the call that it is making may take effect, and is `unknown`
   * here. Default false.
   */
  force?: boolean;
}

/** What became of `decide`. `undecided`: approvals that still wait for somebody, by their ids. */
export type Decided = { ok: true; undecided: readonly string[] } | { ok: false; error: ScriptFailure };

export interface InstructionsOptions {
  /** How scripts reach the harness. Default 'tool'. */
  carrier?: ScriptCarrier;
  /** For scripts in text: whether the answer ends behind a script. Left out: nothing is said about it. */
  afterScript?: 'stop' | 'continue';
  /** Most tokens of the whole text, which shows as much of the tools as that allows. Default 3 000. */
  tokenBudget?: number;
  /** Changes to the limits that the text names: those under which the scripts will run. */
  limits?: Partial<LimitsInput>;
}

export interface HarnessStats {
  sandbox: SandboxStats;
  compiler: CompilerStats;
  /** Once the type checker was needed. */
  checker?: CheckPoolStats;
}

/** Runs the scripts that a model writes, against the tools it was given. */
export interface Harness {
  /** Runs one script. Rejects only for the host programmer's own mistakes. */
  runScript(source: string, options?: RunScriptOptions): Promise<Outcome>;
  /** Runs the scripts in a model's answer as they arrive. Leaving the loop early ends what runs. */
  processText(text: AnswerText, options?: ProcessTextOptions): AsyncGenerator<StreamEvent, void, undefined>;
  /**
   * Goes on with a suspended script at the exact place where it waits, in this process or another: by its suspension,
   * or, where the harness has a store, by the script's id. `decisions` are named by `approvalId`; what is left out, and
   * was not decided before with `decide`, stays pending. Exactly one of several resumes wins; the others, and what
   * cannot go on, end in a `SuspensionError`. Of an answer, the rest is played too: see `resumeText`.
   */
  resume(suspensionOrScriptId: string, decisions?: Decisions, options?: ResumeOptions): Promise<Outcome>;
  /** As `resume`, for a script that `processText` put aside: yields what happens then, to the end of the answer. */
  resumeText(
    suspensionOrScriptId: string,
    decisions?: Decisions,
    options?: ResumeOptions,
  ): AsyncGenerator<StreamEvent, void, undefined>;
  /**
   * Writes down what somebody has decided about a script of the store that waits, and leaves it where it is: whoever
   * resumes or recovers it goes on with that. A later decision about the same approval takes its place.
   */
  decide(scriptId: string, decisions: Decisions, options?: Pick<ResumeOptions, 'principal'>): Promise<Decided>;
  /**
   * Goes on with a script of the store whose process ended. What had completed is not repeated; of a call with
   * effects that had only started nobody knows what came of it: its await rejects, saying so.
   */
  recover(scriptId: string, options?: ResumeOptions): Promise<Outcome>;
  /** Runs a kept script again as it went, along its tape: calls no tool, and writes nothing. */
  replay(scriptId: string, options?: Pick<ResumeOptions, 'signal' | 'onEvent' | 'principal'>): Promise<Outcome>;
  /** A script of the store, with all that a person may want to see of it; undefined where there is none. */
  inspect(scriptId: string, options?: Pick<ResumeOptions, 'principal'>): Promise<KeptScriptDetails | undefined>;
  /**
   * Makes a structured call: the same tools, approvals and limits as a script's. Never rejects for what the tool did.
   * A call whose decision is pending has the status `awaiting_approval` and a `scriptId`: it is saved, resumed and
   * recovered as a script that makes this one call. So is every call with effects where the harness has a store.
   */
  callTool(name: string, input: unknown, options?: CallToolOptions): Promise<Operation & Partial<PendingCall>>;
  /** What scripts are allowed to do, where a run does not say. */
  readonly mode: HarnessMode;
  /** Of a run that changes none. */
  readonly limits: Limits;
  /** Those of `limits` that the host has set; the others are defaults. */
  readonly hostLimits: Partial<LimitsInput>;
  /** Finds scripts in one answer, as `processText` does. */
  detector(options?: Pick<DetectorOptions, 'sourceDeltas'>): Detector;
  /** The tools that scripts and structured calls may use. */
  tools(): readonly Tool[];
  /** The harness as one tool for any agent library. */
  asTool(options?: AsToolOptions): RunScriptTool;
  /** The system text for a model. */
  instructions(options?: InstructionsOptions): string;
  /** What the model is shown of the tools: TypeScript declarations. */
  declarations(): string;
  stats(): HarnessStats;
  /** Starts threads ahead of the first script. */
  warm(): Promise<void>;
  /** Ends every run and frees threads. Idempotent. */
  close(): Promise<void>;
}
