import type { Decisions, Harness, RunOptions } from '../harness/index.js';
import type { LoadImage } from '../history/index.js';
import { generateEvents } from '../answer/index.js';
import {
  ToolscriptUsageError,
  type EventPayload,
  type FunctionTool,
  type HarnessMode,
  type ModelProvider,
  type Outcome,
  type OutputItem,
  type StreamEvent,
  type ToolChoice,
} from '../protocol/index.js';
import { pickRunOptions } from '../protocol/run-context.js';
import { newId } from '../text/crypto.js';
import { defineAgent, withModelFacts, type AgentConfig, type AgentInput } from './agent-config.js';
import { AgentRun } from './agent-run.js';
import { checkAgentOptions } from './check-options.js';
import { agentFor, agentLimits, offerTools } from './offered-tools.js';
import { interruptedRun, namedScripts } from './interrupted-run.js';
import { extendHistory, RunLog, type RunLogPort } from './run-log.js';
import { RunBudget } from './run-budget.js';
import { reportsFailedStore, ScriptInterruption, type ScriptConditions } from './script-host.js';
import { nonceOfItem } from './script-nonce.js';
import { answersIn, spentIn, type SpentUsage } from './spent.js';
import type { SubAgentHost } from './sub-agent-host.js';

const COMMON = ['provider', 'harness', 'history'] as const;

/** The options of `RunOptions` apply to all scripts and calls of the run; `limits` also override those of the agent. */
interface CommonOptions extends Omit<RunOptions, 'onEvent' | 'sink'> {
  provider: ModelProvider;
  harness: Harness;
  agent: AgentInput;
  /** The conversation so far: see `extendHistory`. */
  history?: readonly OutputItem[] | undefined;
  /** Overrides the mode of the agent and of the harness. */
  mode?: HarnessMode | undefined;
  /** The stored system text of the thread; empty for none. Default: generated from the harness and the agent. */
  system?: string | undefined;
  /**
   * The stored tools of the thread: those of its first `agentBeginning`. The model is offered the same tools in every
   * request. Default: the tools of the harness when this part of the run begins.
   */
  tools?: string | undefined;
  /**
   * The nonce of the thread's scripts, for an agent whose scripts arrive in text: see `DetectorOptions`. All runs of a
   * thread need the same one, and a stored `system` must name it. Default: derived from the id of the conversation's
   * first item, which is random if the input is text. If others know that id, or if the beginning of the history can be
   * lost, make a nonce with `newScriptNonce()`, and store it with the thread.
   */
  nonce?: string | undefined;
  /** Loads the bytes of images. */
  loadImage?: LoadImage | undefined;
  /**
   * Functions that the caller of the run performs itself. The run ends after an answer that calls such a function. The
   * input of the next run must contain the call's `function_call_output`.
   */
  clientFunctions?: readonly FunctionTool[] | undefined;
  /** False: an answer contains at most one call. Default: the provider's default. */
  parallelToolCalls?: boolean | undefined;
  /**
   * Resolves when the events that the run's consumer has received so far are stored. A script or a structured call
   * waits for this promise before its first call with effects. A host that recovers runs from stored events must set
   * this option: otherwise, the recovery would repeat a script that no stored event names.
   */
  flushEvents?: (() => Promise<void>) | undefined;
  /** Called with the outcome of each script. The outcome of a suspended script contains the `suspension`. */
  onOutcome?: ((outcome: Outcome) => void) | undefined;
  /**
   * The JSON Schema of the final answer. The `response_done` then has the value as `output`. A model that can enforce
   * the schema gets it with each request; for others, a message asks for it. A wrong answer is repaired once.
   */
  outputSchema?: Readonly<Record<string, unknown>> | undefined;
  /** Ids for the run's events; generated if omitted. */
  runId?: string | undefined;
  threadId?: string | undefined;
  turnId?: string | undefined;
  /** For scripts in text: emits their source while it streams, as `processText` does. Default false. */
  scriptSourceDeltas?: boolean | undefined;
  /** The `seq` of the first event, for a run that continues a suspended run with the same `runId`. Default 0. */
  nextSeq?: number | undefined;
  /** Sub-agents, for a harness with their tools: see `createSubAgents`. The budget of the run is then strict. */
  subAgents?: SubAgentHost | undefined;
}

/** `earlier`: the events of the run that an earlier process stored. */
type Continuing = CommonOptions & {
  readonly earlier?: readonly StreamEvent[] | undefined;
  readonly storeIsWhole?: boolean | undefined;
  /** Decisions about the approvals of the run's sub-agents. */
  readonly decisions?: Decisions | undefined;
};

export interface RunAgentOptions extends CommonOptions {
  /** The user's message as text, or the input as items. */
  input: string | readonly OutputItem[];
  /** The tool that the run's first answer must call. Default: the model decides. */
  toolChoice?: ToolChoice | undefined;
  /**
   * True: an earlier process may have begun this run, and its events were lost. The scripts that the store links to
   * `runId` are then recovered first, so that none of their effects is repeated. Default false.
   */
  mayHaveBegun?: boolean | undefined;
}

export interface ResumeAgentOptions extends CommonOptions {
  /**
   * The `script_id` of the `response_done` with the status `suspended`, or the `suspension` of the script's outcome.
   */
  suspension: string;
  /** Decisions by approval id. Approvals without a decision stay pending. */
  decisions?: Decisions | undefined;
  /**
   * If set, this run recovers the script of `suspension`, which was interrupted in a run that has ended. `force`: the
   * run recovers the script even if the process that claimed the script may be alive.
   */
  recover?: { readonly force?: boolean | undefined } | undefined;
  /**
   * True: an earlier process may have begun to resume the script. If the harness cannot resume the script, this run
   * then recovers the script. Default false.
   */
  mayBeResumed?: boolean | undefined;
}

/**
 * One part of a run: from its start, resume or recovery to its end or its next suspension.
 */
export interface RunPart {
  readonly options: Continuing;
  readonly input?: readonly OutputItem[] | undefined;
  readonly start: (run: AgentRun) => Promise<void>;
}

/**
 * Runs an agent: requests answers, runs their scripts and calls, and sends the results to the model, until an answer
 * contains neither scripts nor calls. The events form one run; `response_done` is the last. A consumer that leaves its
 * loop early aborts the run. Faults of the model, its provider and its scripts are reported in the events; mistakes of
 * the host are thrown.
 */
export function runAgent(options: RunAgentOptions): AsyncGenerator<StreamEvent, void, undefined> {
  return partEvents(startedPart(options));
}

/** The part that begins a run. */
export function startedPart(options: RunAgentOptions): RunPart {
  checkAgentOptions(options, 'runAgent', COMMON);
  const { input, toolChoice, mayHaveBegun = false } = options;
  const items = typeof input === 'string' ? [userMessage(input)] : input;
  if (!Array.isArray(items))
    throw new ToolscriptUsageError('ARGUMENT_INVALID', {
      method: 'runAgent',
      expected: 'the input as text, or as items',
    });
  return {
    options,
    input: items,
    start: (run) => run.start(items as readonly OutputItem[], { toolChoice, mayHaveBegun }),
  };
}

/**
 * Resumes a suspended run: finishes the script and the rest of its answer, gives their results to the model, and
 * continues. `history` is the conversation including the suspended run.
 */
export function resumeAgent(options: ResumeAgentOptions): AsyncGenerator<StreamEvent, void, undefined> {
  return partEvents(resumedScriptPart(options));
}

/** The part that resumes or recovers one script. */
export function resumedScriptPart(options: ResumeAgentOptions): RunPart {
  checkAgentOptions(options, 'resumeAgent', COMMON);
  const { suspension, decisions = {}, recover, mayBeResumed = false } = options;
  if (typeof suspension !== 'string')
    throw new ToolscriptUsageError('ARGUMENT_INVALID', {
      method: 'resumeAgent',
      expected: 'the suspension as a string',
    });
  return {
    options,
    start: (run) =>
      recover === undefined
        ? run.resume(suspension, decisions, mayBeResumed)
        : run.recoverScript(suspension, { force: recover.force === true }),
  };
}

export interface ResumeRunOptions extends Omit<CommonOptions, 'runId' | 'threadId' | 'turnId' | 'nextSeq'> {
  /** All stored events of the run, in order. */
  events: readonly StreamEvent[];
  /** Decisions by approval id. Approvals without a decision stay pending. */
  decisions?: Decisions | undefined;
  /** See `ResumeAgentOptions`. */
  mayBeResumed?: boolean | undefined;
}

export interface RecoverRunOptions extends Omit<ResumeRunOptions, 'decisions' | 'mayBeResumed'> {
  /** Claims a script even if the process that claimed the script may be alive. Default false. */
  force?: boolean | undefined;
  /**
   * True: the interrupted run used the same store of scripts, and the store has lost nothing since that run, because the
   * store's machine has not lost power. A store with `isFlushed` never loses anything. A script without a journal has then performed
   * only reads, and runs again. Default false: the model reads that the script was interrupted.
   */
  storeIsWhole?: boolean | undefined;
}

/** Resumes a suspended run from its stored events. `history` is the conversation before the run. */
export function resumeRun(options: ResumeRunOptions): AsyncGenerator<StreamEvent> {
  return partEvents(resumedPart(options));
}

/** The part that continues a suspended run. */
export function resumedPart(given: ResumeRunOptions): RunPart {
  checkAgentOptions(given, 'resumeRun', [...COMMON, 'events']);
  const { events, decisions = {}, mayBeResumed = false, ...options } = given;
  const last = events.at(-1)?.payload;
  if (last?.type !== 'response_done' || last.status !== 'suspended' || last.script_id === undefined)
    throw new ToolscriptUsageError('RUN_NOT_SUSPENDED');
  const suspension = last.script_id;
  const continued = continuing(options, events);
  if (last.in_sub_agents === true)
    return {
      options: { ...continued, decisions },
      start: (run) => run.recoverScript(suspension, { force: true, evenEnded: true, mayHaveLost: mayBeResumed }),
    };
  return resumedScriptPart({ ...continued, suspension, decisions, mayBeResumed });
}

/**
 * Continues a run whose process ended, from its stored events. Completed items stay, an unfinished answer is closed as
 * interrupted, and a script continues from its journal. A call with effects but without a result is repeated only if a
 * script makes or saves the call, and the tool is idempotent. Otherwise, the outcome of the call is reported as
 * unknown. `history` is the conversation before the run.
 */
export function recoverRun(options: RecoverRunOptions): AsyncGenerator<StreamEvent> {
  return partEvents(recoveredPart(options));
}

/** The part that continues an interrupted run. */
export function recoveredPart(given: RecoverRunOptions): RunPart {
  checkAgentOptions(given, 'recoverRun', [...COMMON, 'events']);
  const { events, force = false, storeIsWhole = false, ...options } = given;
  const last = events.at(-1)?.payload;
  if (last === undefined || last.type === 'response_done') throw new ToolscriptUsageError('RUN_NOT_INTERRUPTED');
  const interrupted = interruptedRun(events);
  const closed = interrupted.openItems.map((id): StreamEvent => ({
    ...events.at(-1)!,
    payload: { type: 'item_cancelled', item_id: id },
  }));
  return {
    options: { ...continuing(options, [...events, ...closed]), storeIsWhole },
    start: (run) => run.recover(interrupted, { force, storeIsWhole }),
  };
}

/** The part that has the conversation summarised, without an answer. `events`: those of the run so far. */
export function compactingPart({
  events,
  input,
  ...options
}: CommonOptions & {
  readonly input: readonly OutputItem[];
  readonly events: readonly StreamEvent[];
}): RunPart {
  checkAgentOptions(options, 'runAgent', COMMON);
  const isBegun = events.length > 0;
  const openItems = isBegun ? interruptedRun(events).openItems : [];
  return {
    options: isBegun ? continuing(options, events) : options,
    input,
    start: (run) => run.compact(input, openItems),
  };
}

function continuing(
  { history = [], ...options }: Omit<CommonOptions, 'runId' | 'threadId' | 'turnId' | 'nextSeq'>,
  events: readonly StreamEvent[],
): Continuing {
  const { run_id: runId, thread_id: threadId, turn_id: turnId, seq } = events.at(-1)!;
  return {
    ...options,
    history: extendHistory(history, events),
    earlier: events.filter(({ payload }) => payload.type !== 'item_delta'),
    runId,
    threadId,
    turnId,
    nextSeq: seq + 1,
  };
}

/** A user's message. */
export function userMessage(content: string): OutputItem {
  return { type: 'message', id: newId('item'), role: 'user', content };
}

function partEvents(part: RunPart): AsyncGenerator<StreamEvent, void, undefined> {
  const { flushEvents } = part.options;
  return generateEvents(part.options.signal, (push, signal, handled) =>
    prepared(part, signal, { push, flush: flushEvents && (() => handled().then(flushEvents)) }),
  );
}

/**
 * Performs one part of a run, and gives each event to `take` when it is made. Rejects for mistakes of the host, which
 * the function that made the part has not found. `signal` of the options aborts the part; `take` must not throw.
 */
export async function performPart(part: RunPart, take: (event: StreamEvent) => void): Promise<void> {
  const { signal = new AbortController().signal, flushEvents } = part.options;
  await prepared(part, signal, { push: take, flush: flushEvents })();
}

function prepared(part: RunPart, signal: AbortSignal, events: Events): () => Promise<void> {
  const { start } = part;
  const run = prepare(part, signal, events);
  return async () => {
    try {
      await start(run);
    } finally {
      await run.interrupt();
    }
  };
}

interface Events {
  readonly push: (event: StreamEvent) => void;
  readonly flush: (() => Promise<void>) | undefined;
}

/** Returns the options that the scripts and calls of the run share. */
function scriptOptions(options: Continuing, agent: AgentConfig, log: RunLog, signal: AbortSignal): RunOptions {
  const { provider, harness, context, limits } = options;
  const known = { conversationId: log.identity.threadId, provider: provider.api, model: provider.model };
  return Object.freeze({
    ...pickRunOptions(options),
    context: { ...known, ...context },
    limits: agentLimits(harness, agent, limits),
    signal,
    sink: log,
  });
}

function prepare({ options, input = [] }: RunPart, signal: AbortSignal, { push, flush }: Events): AgentRun {
  const { provider, harness, system, loadImage, scriptSourceDeltas = false, subAgents } = options;
  const { clientFunctions = [], parallelToolCalls, onOutcome, outputSchema } = options;
  harness.assertOpen();
  const agent = agentFor(provider, withModelFacts(defineAgent(options.agent), provider.model));
  const interruption = new ScriptInterruption();
  const earlier = (options.earlier ?? []).map(({ payload }) => payload);
  const spentEarlier = spentIn(earlier);
  const budget = subAgents?.budget ?? ownBudget(agent, spentEarlier);
  const withholds = (payload: EventPayload) => reportsFailedStore(payload) || interruption.withholds(payload);
  const log = openLog(options, push, { flush, takeCall: budget.takeCall, withholds });
  const mode = options.mode ?? agent.mode ?? harness.mode;
  const nonce = agent.carrier === 'text' ? conversationNonce(options, mode, input) : undefined;
  const { tools, functions, withoutArguments, callers } = offerTools(harness, agent, mode, {
    clientFunctions,
    stored: options.tools,
  });
  const ofScripts = scriptOptions(options, agent, log, AbortSignal.any([signal, interruption.signal]));
  const results: unknown[] = [];
  const conditions = { harness, log, mode, options: ofScripts, interruption, onOutcome };
  const work = {
    emit: log.emit,
    mode,
    modelOutputTokens: ofScripts.limits?.modelOutputTokens ?? harness.limits.modelOutputTokens,
    continueOnError: agent.continueOnError,
    scriptsAreCalls: agent.carrier === 'tool' || agent.carrier === 'custom',
    functions,
    withoutArguments,
    callers,
    clientFunctions: new Set(clientFunctions.map(({ name }) => name)),
    onResult: (result: unknown) => {
      results.push(result);
    },
  };
  const ofScope = { agent, provider, budget, signal, ...fixedScope(options, conditions) };
  return new AgentRun({
    ...conditions,
    provider,
    agent,
    signal,
    work,
    tools,
    parallelToolCalls,
    nonce,
    system,
    loadImage,
    results,
    scriptSourceDeltas,
    outputSchema,
    budget,
    spentEarlier,
    earlierTurns: answersIn(earlier),
    namedScripts: namedScripts(earlier),
    openSubAgents: subAgents && ((ofRun) => subAgents.open({ ...ofScope, ...ofRun })),
  });
}

/** In the mode `disabled`, the instructions name no nonce, and a warning replaces every block. */
function conversationNonce(
  { nonce, history = [] }: Continuing,
  mode: HarnessMode,
  input: readonly OutputItem[],
): string | undefined {
  if (nonce !== undefined || mode === 'disabled') return nonce;
  // defence: every-conversation-has-a-nonce
  return nonceOfItem(history[0] ?? input[0]);
}

function openLog(options: Continuing, push: Events['push'], port: RunLogPort): RunLog {
  const { threadId = newId('thr'), runId = newId('run'), turnId = newId('turn'), nextSeq = 0 } = options;
  const { history = [], subAgents } = options;
  const identity = {
    runId,
    threadId,
    turnId,
    nextSeq,
    parentRunId: subAgents?.parentRunId,
    rootRunId: subAgents?.rootRunId,
    agents: subAgents?.path,
  };
  return new RunLog(identity, history, push, { ...port, requestedBefore: requestedIn(options.earlier, nextSeq) });
}

/** A host that continues a run without its stored events has the requests in its own log. */
function requestedIn(earlier: readonly StreamEvent[] | undefined, nextSeq: number): RunLogPort['requestedBefore'] {
  if (earlier === undefined) return () => nextSeq > 0;
  return (id) =>
    earlier.some(({ payload }) => payload.type === 'approval_requested' && payload.approval.approval_id === id);
}

function ownBudget({ tokenBudget: tokens, costBudget: cost }: AgentConfig, spent: SpentUsage) {
  return new RunBudget({ tokens, cost }, spent);
}

/** The members of a scope that do not depend on the state of the run. */
function fixedScope(given: Continuing, { harness, mode, options, interruption, log }: ScriptConditions) {
  const { loadImage, earlier = [], storeIsWhole = false, decisions = {} } = given;
  const { identity, emit } = log;
  const flush = async () => log.flush?.();
  const runningCalls = () => log.runningCalls;
  const suspend = (approvalIds: readonly string[]) => interruption.interrupt(approvalIds);
  const own = { harness, mode, options, identity, emit, flush, runningCalls, suspend };
  return { ...own, loadImage, earlier, storeIsWhole, decisions };
}
