import type {
  ApprovalPolicy,
  HarnessMode,
  Limits,
  LimitsInput,
  Operation,
  Outcome,
  SandboxStats,
  ScriptOrigin,
  ScriptFailure,
  ScriptItemMembers,
  StreamEvent,
  Tool,
} from '../protocol/index.js';
import type { RunOptions } from '../protocol/run-context.js';
import type { ScriptCapability } from '../protocol/script-capability.js';
import type { CompilerStats, Detector, DetectorOptions } from '../script/index.js';
import type { CheckPoolStats } from '../script/check/index.js';
import type { PendingCall } from '../run/saved-call.js';
import type { RunScriptTool } from './as-tool.js';
import type { KeptScriptDetails, ScriptsOfRunOptions } from '../run/durability/kept-scripts.js';
import type { ScriptCarrier } from '../prompt/instructions.js';
import type { AnswerText } from '../answer/index.js';
import type { Decisions } from '../run/resumption.js';
import type { RevertResult, RevertibleCall } from '../run/reverts.js';
import type { ToolCatalog, WhyMissing } from '../tools/index.js';

/** Options of `harness.asTool`; they apply to each script of the tool. */
export interface AsToolOptions extends RunOptions {
  /**
   * Receives the outcome of each script. Without this option, without a store and without `approvals`, a suspension
   * would be lost, so calls that need approval are denied. The first such call of each tool is reported to
   * `onInternalError`, or as a warning of the process.
   */
  onOutcome?: ((outcome: Outcome) => void) | undefined;
}

/** Options of `harness.runScript`. */
export interface RunScriptOptions extends RunOptions {
  mode?: HarnessMode | undefined;
  /** The language of the script. Default 'ts', which includes JavaScript. */
  language?: 'ts' | 'js' | undefined;
  /** Ids for the run's events and for the script's context; generated if omitted. */
  threadId?: string | undefined;
  turnId?: string | undefined;
  /** For a host with its own conversation: members of the script's item. The script's output then has a `report`. */
  item?: ScriptItemMembers | undefined;
  /** The reason why the script must not run. The harness reports the reason as the script's failure. */
  refusal?: ScriptFailure | undefined;
  /**
   * True: the script repeats a text that its conversation has read, for example a web page. Every call of the script
   * then needs the decision of a user, also if a policy or a rule approves the call. Default false.
   */
  repeatsReadText?: boolean | undefined;
  /**
   * The facts of the conversation, for the questions about guarded arguments: `scriptOrigin(items)`. Default: the model
   * has read no untrusted text, and no text of a user is known.
   */
  origin?: ScriptOrigin | undefined;
  /**
   * The time in ms after which a script that still runs answers with the status `running`, and continues:
   * `harness.waitScript` answers its end. Default: the option of the harness, if `item` is not set.
   */
  yieldAfterMs?: number | undefined;
  /**
   * The heap of an earlier outcome, whose variables the script can use, in a harness with `scripts: 'one-program'`.
   * Default: the script starts a new program. With a `threadId`, the variables of the script are kept only if this heap is
   * the newest one of the conversation.
   */
  heap?: string | undefined;
  /**
   * The program of the script in a harness with `scripts: 'one-program'`. 'thread': that of the conversation `threadId`.
   * 'own': one that belongs to no conversation, as that of a sub-agent. 'none': the script shares nothing. Default
   * 'thread'.
   */
  program?: 'thread' | 'own' | 'none' | undefined;
}

/** Options of `harness.callTool`. */
export interface CallToolOptions extends RunOptions {
  /** The call's id in events and operations; generated if omitted. */
  callId?: string | undefined;
  /**
   * The id under which the call is saved, if it may wait for a decision or has effects that a store records. If a store
   * has saved an earlier call with this id, the call is not made. Generated if omitted.
   */
  scriptId?: string | undefined;
  /**
   * The facts of the conversation, for the questions about guarded arguments: `scriptOrigin(items)`. Default: the model
   * has read no untrusted text, and no text of a user is known.
   */
  origin?: ScriptOrigin | undefined;
  /** Ids for the events of the call; generated if omitted. */
  threadId?: string | undefined;
  turnId?: string | undefined;
}

/**
 * Options of `harness.processText`.
 *
 * @example
 *
 * ```ts
 * for await (const { payload } of harness.processText(answer, { continueOnError: true }))
 *   if (payload.type === 'item_delta') process.stdout.write(payload.delta);
 * ```
 */
export interface ProcessTextOptions extends RunOptions {
  /**
   * The facts of the conversation, for the questions about guarded arguments: `scriptOrigin(items)`. Default: the model
   * has read no untrusted text, and no text of a user is known.
   */
  origin?: ScriptOrigin | undefined;
  mode?: HarnessMode | undefined;
  /** True: later scripts run after a script has failed. Default false. */
  continueOnError?: boolean | undefined;
  /**
   * True: a script's source is emitted while it streams. The script's item starts when the block opens, and
   * `item_delta`s carry the source before the `item_done`. Default false: `item_start` and `item_done` are emitted
   * together at the end of the block.
   */
  scriptSourceDeltas?: boolean | undefined;
  /** The heap in which the first script starts, as for `runScript`. Each later script starts from the one before it. */
  heap?: string | undefined;
  /**
   * Receives the outcome of each script. The outcome of a suspended script arrives at the end of the answer, with its
   * `suspension`.
   */
  onOutcome?: ((outcome: Outcome) => void) | undefined;
  /** Ids for the run's events; generated if omitted. */
  runId?: string | undefined;
  threadId?: string | undefined;
  turnId?: string | undefined;
}

/**
 * Options to resume a script. All other options keep the values of its start. `principal`: the same as at the script's
 * start. `approvals`: a call that these approvals deny does not run, even if a user approved it. `limits`: an override
 * applies if it is lower than the script's own limit.
 */
export interface ResumeOptions extends Omit<RunOptions, 'context'> {
  /** Receives the outcome of the resumed script and of each later script in its answer, as for `processText`. */
  onOutcome?: ((outcome: Outcome) => void) | undefined;
  /**
   * Claims the script even if its holder may be alive. A call that the holder is making may still take effect; the
   * resumed script gets the outcome `unknown` for this call. Default false.
   */
  force?: boolean | undefined;
  /** For `recover`: the item that the script already has in the log that `sink` continues. Default: a new item. */
  item?: { readonly id: string; readonly call_id: string } | undefined;
  /**
   * For `recover`: reports the outcome again if the script has ended. The script is replayed along its tape: no tool
   * is called, and nothing is written. Default false: the outcome is a `SuspensionError`.
   */
  evenEnded?: boolean | undefined;
  /** For `resume` and `recover` of a script that is no part of an answer, as for `runScript`. Default: no limit. */
  yieldAfterMs?: number | undefined;
}

/** Options of `harness.waitScript`. */
export interface WaitScriptOptions {
  /** Maximum time of the wait, in ms. Default: until the script ends or is suspended. */
  forMs?: number | undefined;
  /** The principal of the script. */
  principal?: string | undefined;
  /** Ends the wait, and not the script. */
  signal?: AbortSignal | undefined;
}

/** Options of `revert`, as for `resume`. */
export type RevertOptions = Pick<ResumeOptions, 'app' | 'principal' | 'signal' | 'approvals' | 'limits' | 'onEvent'>;

/** The result of `decide`. `undecided`: ids of approvals that are still pending. */
export type DecideResult = { ok: true; undecided: readonly string[] } | { ok: false; error: ScriptFailure };

/** Options of `harness.instructions`. */
export interface InstructionsOptions {
  /** The form in which scripts reach the harness. Default 'tool'. */
  carrier?: ScriptCarrier | undefined;
  /** For scripts in text: whether the answer ends after a script. Undefined: the instructions do not say. */
  afterScript?: 'stop' | 'continue' | undefined;
  /** Maximum tokens of the instructions, which show as many tools as fit. Default 3 000. */
  tokenBudget?: number | undefined;
  /** For scripts in text: the nonce that their tags must carry. Default: that of the option `detect`. */
  nonce?: string | undefined;
  /** Overrides of the limits that the instructions mention: the limits under which the scripts will run. */
  limits?: Partial<LimitsInput> | undefined;
  /**
   * Tools without an output schema show what the results of this principal's calls looked like, as far as it was known
   * before the first call of this harness.
   */
  principal?: string | undefined;
  /** False: what results looked like is not shown. Default true. */
  resultTypes?: boolean | undefined;
  /** False: the rules alone, as for a harness without tools. Default true. */
  catalog?: boolean | undefined;
}

/** The use of a harness now, and its work since its start. */
export interface HarnessStats {
  sandbox: SandboxStats;
  compiler: CompilerStats;
  /** Present after the first use of the type checker. */
  checker?: CheckPoolStats | undefined;
  typecheck: TypecheckStats;
}

/** Whether scripts are type-checked. */
export interface TypecheckStats {
  /** The option `typecheck` of the harness. */
  mode: 'error' | 'warn' | 'off';
  /**
   * `untried`: no script has needed the checker yet. `unavailable`: no checker could be started for the last script
   * that needed one, so scripts run unchecked.
   */
  state: 'off' | 'untried' | 'available' | 'unavailable';
  /** Number of checks that were skipped because no checker could be started. */
  unchecked: number;
  /** Present while the checker is unavailable: the reason. */
  reason?: string | undefined;
}

/**
 * The tools of a harness, which may change during its life. A script keeps the tools that it was checked against; the
 * next script, call, declaration and instruction uses the new ones. A resumed or recovered script uses the current
 * tools. An invalid change throws a `ToolscriptUsageError` and changes nothing.
 *
 * @example
 *
 * ```ts
 * harness.tools.add([getWeather]);
 * harness.tools.remove(['getWeather']);
 * ```
 */
export interface HarnessTools {
  /** The tools that scripts and structured calls may use. */
  (): readonly Tool[];
  /** Adds tools. Throws if a tool with one of their names exists. */
  add(tools: readonly Tool[]): void;
  /** Removes tools by their own names. Throws for an unknown name. */
  remove(names: readonly string[]): void;
  /**
   * Removes and adds tools in one step, as for the new list of an MCP server. A new tool with the name of a removed
   * tool takes the position of that tool.
   */
  replace(names: readonly string[], tools: readonly Tool[]): void;
  /**
   * Adds a function that says why a tool may be missing, for a tool that comes later or waits for a user. Models read
   * its answer in place of the names of similar tools. Returns a function that removes it.
   */
  explain(whyMissing: WhyMissing): () => void;
}

/** Runs the scripts that a model writes, with the given tools. */
export interface Harness {
  /** Runs one script. Rejects only for mistakes of the host's programmer. */
  runScript<T = unknown>(source: string, options?: RunScriptOptions): Promise<Outcome<T>>;
  /**
   * Runs the scripts in a model's answer as they arrive. A consumer that leaves its loop early cancels the running
   * scripts.
   */
  processText(text: AnswerText, options?: ProcessTextOptions): AsyncGenerator<StreamEvent, void, undefined>;
  /**
   * Resumes a suspended script at the exact await, in this process or another one. The first argument is the script's
   * suspension, or the script's id if the harness has a store or this harness suspended the script. `decisions` are
   * keyed by `approvalId`; approvals without a decision in `decisions` or by `decide` stay pending. Exactly one of
   * several resumes wins; the others, and scripts that cannot be resumed, end in a `SuspensionError`. The rest of an
   * answer is played too: see `resumeText`.
   */
  resume(suspensionOrScriptId: string, decisions?: Decisions, options?: ResumeOptions): Promise<Outcome>;
  /** Like `resume`, for a script that `processText` suspended: yields the events up to the end of the answer. */
  resumeText(
    suspensionOrScriptId: string,
    decisions?: Decisions,
    options?: ResumeOptions,
  ): AsyncGenerator<StreamEvent, void, undefined>;
  /**
   * Stores decisions about a suspended script without resuming it. The next resume or recovery uses them. A later
   * decision about the same approval replaces an earlier one.
   */
  decide(scriptId: string, decisions: Decisions, options?: Pick<ResumeOptions, 'principal'>): Promise<DecideResult>;
  /**
   * Ensures that a script without stored lines makes no call with effects from now on, even if its process is alive.
   * The caller can then run the script again under another id. Returns false if the harness has no store, if the script
   * has stored lines, or if a living process holds it. Rejects with a `StoreUnavailableError` if the store fails.
   */
  abandon(scriptId: string): Promise<boolean>;
  /**
   * Continues a stored script whose process ended. Completed calls are not repeated. A call with effects that had only
   * started is repeated if its tool is idempotent. Otherwise, the outcome of the call is unknown, and the await of the
   * call rejects with that explanation.
   */
  recover(scriptId: string, options?: ResumeOptions): Promise<Outcome>;
  /**
   * Waits for a script that has outlived its `yieldAfterMs`, or, with a store, for any script that the store contains,
   * also of another process. The outcome is the script's end, the same for every caller; `suspended` if it waits for
   * decisions; or `running` if `forMs` is over first. A failure is a `ScriptInterruptedError` if the process of the
   * script has ended, and a `ScriptNotFoundError` if the principal has no such script: without a store, the outcomes of
   * the last 20 scripts of each principal are kept for 10 minutes.
   */
  waitScript<T = unknown>(scriptId: string, options?: WaitScriptOptions): Promise<Outcome<T>>;
  /**
   * Cancels a script that `waitScript` finds, and answers its end. A script of another process may finish the call that
   * it is making, and makes no later call with effects. A suspended script can no longer be resumed. A script that has
   * ended stays as it is.
   */
  cancelScript<T = unknown>(scriptId: string, options?: Pick<WaitScriptOptions, 'principal'>): Promise<Outcome<T>>;
  /**
   * Deletes the variables of the program of a conversation, unless a script of it runs or may be resumed. For a program
   * that is in no thread store, such as a session of a gateway.
   */
  endProgram(threadId: string, options?: Pick<WaitScriptOptions, 'principal'>): Promise<void>;
  /** Replays a stored script along its tape: calls no tool and writes nothing. */
  replay(scriptId: string, options?: Pick<ResumeOptions, 'signal' | 'onEvent' | 'principal'>): Promise<Outcome>;
  /** Returns a stored script with all details for a user; undefined if there is none. */
  inspect(scriptId: string, options?: Pick<ResumeOptions, 'principal'>): Promise<KeptScriptDetails | undefined>;
  /**
   * The scripts that the store links to a run of an agent, in order of their starts: all that may have made a call with
   * effects. Rejects with a `StoreUnavailableError` if the store fails.
   */
  scriptsOfRun(runId: string, options?: ScriptsOfRunOptions): Promise<readonly KeptScriptDetails[]>;
  /**
   * Returns the calls with effects of a stored script, newest first. The status of each call says whether `revert` can
   * undo the call. Undefined if there is no such script.
   */
  revertible(
    scriptId: string,
    options?: Pick<ResumeOptions, 'principal'>,
  ): Promise<readonly RevertibleCall[] | undefined>;
  /**
   * Undoes the calls of a stored script whose tools have a `revert`, newest first, and stops at the first failure. Each
   * revert needs the same approval as a call of its tool; a revert without a decision is denied. A successful revert is
   * never repeated, and exactly one of several processes reverts. Files and other effects without `revert` stay as they
   * are.
   */
  revert(scriptId: string, options?: RevertOptions): Promise<RevertResult>;
  /**
   * Makes a structured call, with the same tools, approvals and limits as a script's call. Does not reject if the tool
   * fails. A call whose decision is pending has the status `awaiting_approval` and a `scriptId`: the call is saved,
   * resumed and recovered as a script that returns the result of this one call. A harness with a store saves every call
   * with effects in the same way. A cancellation, the limit `timeoutMs` and the `close` of the harness end a call. If
   * its tool has not started, the call is `not_started`. Otherwise, the tool gets a short time to end: the call is
   * `completed`, `aborted` if the tool throws, or `unknown` if the tool does not end in time (a read: `aborted`).
   */
  callTool(name: string, input: unknown, options?: CallToolOptions): Promise<Operation & Partial<PendingCall>>;
  /** Whether a rule is about the sources of arguments, so that the `origin` of scripts and calls counts. */
  readonly guardsArguments: boolean;
  /** Whether scripts are stored beyond the process. */
  readonly hasStore: boolean;
  /** Whether every write to the store of scripts survives a power failure. */
  readonly hasFlushedStore: boolean;
  /** The needs of the harness's scripts, and the needs that the harness opens. */
  readonly capability: ScriptCapability;
  /** The default mode of runs. */
  readonly mode: HarnessMode;
  /** Whether scripts can share their variables. */
  readonly scripts: 'separate' | 'one-program';
  /** The default limits of runs. */
  readonly limits: Limits;
  /** The limits that the host has set; all others are defaults. */
  readonly hostLimits: Partial<LimitsInput>;
  /**
   * Creates a detector, which finds scripts in one answer, as `processText` does. `nonce`: the nonce that scripts carry;
   * false: none. Default: the nonce of the option `detect`.
   */
  detector(options?: Pick<DetectorOptions, 'sourceDeltas'> & { nonce?: string | false | undefined }): Detector;
  /**
   * The tools that scripts and structured calls may use: `harness.tools()`. They may change: `harness.tools.add(…)`.
   */
  readonly tools: HarnessTools;
  /**
   * Returns a catalog, which finds tools as scripts do with `catalog`. `principal`: the shapes of results come only
   * from this principal's calls.
   */
  catalog(options?: { principal?: string | undefined }): ToolCatalog;
  /**
   * The harness as one tool for any agent library. The description shows the tools that the harness has when this
   * method is called.
   */
  asTool(options?: AsToolOptions): RunScriptTool;
  /** The system text for a model. */
  instructions(options?: InstructionsOptions): string;
  /** TypeScript declarations of all globals of a script other than the language's own, such as `tools`. */
  declarations(): string;
  stats(): HarnessStats;
  /** The approvals of runs that set none. */
  readonly approvals: ApprovalPolicy | undefined;
  /**
   * Returns a harness with only the named tools. The returned harness shares everything else with this harness. Unknown
   * names are ignored. A harness with fewer tools keeps the current tools, even if this harness changes its tools
   * later. The `close` of the returned harness does nothing: the returned harness ends when this harness is closed.
   */
  narrowed(tools: readonly string[]): Harness;
  /** Starts worker threads before the first script. */
  warm(): Promise<void>;
  /** Throws a `ToolscriptUsageError` if the harness is closed. */
  assertOpen(): void;
  /** Cancels every run and frees the worker threads. Idempotent. */
  close(): Promise<void>;
}
