import type { Decisions, Harness } from '../harness/index.js';
import type { LoadImage } from '../history/index.js';
import { generateEvents } from '../answer/index.js';
import {
  ToolscriptUsageError,
  type ApprovalPolicy,
  type FunctionTool,
  type HarnessMode,
  type JsonObject,
  type LimitsInput,
  type ModelProvider,
  type Outcome,
  type OutputItem,
  type StreamEvent,
  type ToolChoice,
} from '../protocol/index.js';
import { present } from '../protocol/json.js';
import { newId } from '../text/crypto.js';
import { defineAgent, type AgentConfig, type AgentInput } from './agent-config.js';
import { AgentRun } from './agent-run.js';
import { checkAgentOptions } from './check-options.js';
import { agentFor, agentLimits, offerTools } from './offered-tools.js';
import { interruptedRun } from './interrupted-run.js';
import { extendHistory, RunLog, type RunLogPort } from './run-log.js';
import { RunBudget } from './run-budget.js';
import { ScriptInterruption, type RunConditions } from './script-host.js';
import { spentIn } from './spent.js';
import type { SubAgentHost } from './sub-agent-host.js';

const COMMON = ['provider', 'harness', 'history'] as const;

interface CommonOptions {
  provider: ModelProvider;
  harness: Harness;
  agent: AgentInput;
  /** The conversation so far: see `extendHistory`. */
  history?: readonly OutputItem[];
  signal?: AbortSignal;
  /** Overrides the mode of the agent and of the harness. */
  mode?: HarnessMode;
  /** Overrides of the limits of the agent and of the harness. */
  limits?: Partial<LimitsInput>;
  /** Replaces the harness's approvals for this run. */
  approvals?: ApprovalPolicy;
  /** The host's own context for tools. */
  app?: unknown;
  /** The owner of the run. */
  principal?: string;
  /** Members of the scripts' `context`. */
  context?: JsonObject;
  /** The stored system text of the thread. Default: generated from the harness and the agent. */
  system?: string;
  /** Loads the bytes of images. */
  loadImage?: LoadImage;
  /**
   * Functions that the caller of the run performs itself. The run ends after an answer that calls such a function. The
   * input of the next run must contain the call's `function_call_output`.
   */
  clientFunctions?: readonly FunctionTool[];
  /** False: an answer contains at most one call. Default: the provider's default. */
  parallelToolCalls?: boolean;
  /**
   * Resolves when the events that the run's consumer has received so far are stored. A script or a structured call
   * waits for this promise before its first call with effects. A host that recovers runs from stored events must set
   * this option: otherwise, the recovery would repeat a script that no stored event names.
   */
  flushEvents?: () => Promise<void>;
  /** Called with the outcome of each script. The outcome of a suspended script contains the `suspension`. */
  onOutcome?: (outcome: Outcome) => void;
  /** Ids for the run's events; generated if omitted. */
  runId?: string;
  threadId?: string;
  turnId?: string;
  /** For scripts in text: emits their source while it streams, as `processText` does. Default false. */
  scriptSourceDeltas?: boolean;
  /** The `seq` of the first event, for a run that continues a suspended run with the same `runId`. Default 0. */
  nextSeq?: number;
  /** Sub-agents, for a harness with their tools: see `createSubAgents`. The budget of the run is then strict. */
  subAgents?: SubAgentHost;
}

/** `earlier`: the events of the run that an earlier process stored. */
type Continuing = CommonOptions & {
  readonly earlier?: readonly StreamEvent[];
  readonly storeIsWhole?: boolean;
  /** Decisions about the approvals of the run's sub-agents. */
  readonly decisions?: Decisions;
};

export interface RunAgentOptions extends CommonOptions {
  /** The user's message as text, or the input as items. */
  input: string | readonly OutputItem[];
  /** The tool that the run's first answer must call. Default: the model decides. */
  toolChoice?: ToolChoice;
}

export interface ResumeAgentOptions extends CommonOptions {
  /**
   * The `script_id` of the `response_done` with the status `suspended`, or the `suspension` of the script's outcome.
   */
  suspension: string;
  /** Decisions by approval id. Approvals without a decision stay pending. */
  decisions?: Decisions;
  /**
   * If set, this run recovers the script of `suspension`, which was interrupted in a run that has ended. `force`: the
   * run recovers the script even if the process that claimed the script may be alive.
   */
  recover?: { readonly force?: boolean };
  /**
   * True: an earlier process may have begun to resume the script. If the harness cannot resume the script, this run
   * then recovers the script. Default false.
   */
  mayBeResumed?: boolean;
}

/**
 * Runs an agent: requests answers, runs their scripts and calls, and sends the results to the model, until an answer
 * contains neither scripts nor calls. The events form one run; `response_done` is the last. A consumer that leaves its
 * loop early aborts the run. Faults of the model, its provider and its scripts are reported in the events; mistakes of
 * the host are thrown.
 */
export function runAgent(options: RunAgentOptions): AsyncGenerator<StreamEvent, void, undefined> {
  checkAgentOptions(options, 'runAgent', COMMON);
  const { input, toolChoice } = options;
  const items = typeof input === 'string' ? [userMessage(input)] : input;
  if (!Array.isArray(items)) throw new ToolscriptUsageError('runAgent needs the input as text, or as items.');
  return play(options, (run) => run.start(items as readonly OutputItem[], toolChoice));
}

/**
 * Resumes a suspended run: finishes the script and the rest of its answer, gives their results to the model, and
 * continues. `history` is the conversation including the suspended run.
 */
export function resumeAgent(options: ResumeAgentOptions): AsyncGenerator<StreamEvent, void, undefined> {
  checkAgentOptions(options, 'resumeAgent', COMMON);
  const { suspension, decisions = {}, recover, mayBeResumed = false } = options;
  if (typeof suspension !== 'string') throw new ToolscriptUsageError('resumeAgent needs the suspension as a string.');
  return play(options, (run) =>
    recover === undefined
      ? run.resume(suspension, decisions, mayBeResumed)
      : run.recoverScript(suspension, { force: recover.force === true }),
  );
}

export interface ResumeRunOptions extends Omit<CommonOptions, 'runId' | 'threadId' | 'turnId' | 'nextSeq'> {
  /** All stored events of the run, in order. */
  events: readonly StreamEvent[];
  /** Decisions by approval id. Approvals without a decision stay pending. */
  decisions?: Decisions;
  /** See `ResumeAgentOptions`. */
  mayBeResumed?: boolean;
}

export interface RecoverRunOptions extends Omit<ResumeRunOptions, 'decisions' | 'mayBeResumed'> {
  /** Claims a script even if the process that claimed the script may be alive. Default false. */
  force?: boolean;
  /**
   * True: the interrupted run used the same store of scripts, and the store has lost nothing since that run: the
   * store's machine has not lost power, or the store flushes its writes. A script without a journal has then performed
   * only reads, and runs again. Default false: the model reads that the script was interrupted.
   */
  storeIsWhole?: boolean;
}

/** Resumes a suspended run from its stored events. `history` is the conversation before the run. */
export function resumeRun(given: ResumeRunOptions): AsyncGenerator<StreamEvent> {
  checkAgentOptions(given, 'resumeRun', [...COMMON, 'events']);
  const { events, decisions = {}, ...options } = given;
  const last = events.at(-1)?.payload;
  if (last?.type !== 'response_done' || last.status !== 'suspended' || last.script_id === undefined)
    throw new ToolscriptUsageError(
      'resumeRun needs the events of a suspended run. Use recoverRun for a run that has not ended.',
    );
  const suspension = last.script_id;
  const continued = continuing(options, events);
  if (last.in_sub_agents === true)
    return play({ ...continued, decisions }, (run) => run.recoverScript(suspension, { force: true, evenEnded: true }));
  return resumeAgent({ ...continued, suspension, decisions });
}

/**
 * Continues a run whose process ended, from its stored events. Completed items stay, an unfinished answer is closed as
 * interrupted, and a script continues from its journal. A call with effects but without a result is repeated only if a
 * script makes or saves the call, and the tool is idempotent. Otherwise, the outcome of the call is reported as
 * unknown. `history` is the conversation before the run.
 */
export function recoverRun(given: RecoverRunOptions): AsyncGenerator<StreamEvent> {
  checkAgentOptions(given, 'recoverRun', [...COMMON, 'events']);
  const { events, force = false, storeIsWhole = false, ...options } = given;
  const last = events.at(-1)?.payload;
  if (last === undefined || last.type === 'response_done')
    throw new ToolscriptUsageError(
      'recoverRun needs the events of a run that has not ended. Use resumeRun for a suspended run.',
    );
  const interrupted = interruptedRun(events);
  const closed = interrupted.openItems.map((id): StreamEvent => ({
    ...events.at(-1)!,
    payload: { type: 'item_cancelled', item_id: id },
  }));
  return play({ ...continuing(options, [...events, ...closed]), storeIsWhole }, (run) =>
    run.recover(interrupted, { force, storeIsWhole }),
  );
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

function play(
  options: Continuing,
  start: (run: AgentRun) => Promise<void>,
): AsyncGenerator<StreamEvent, void, undefined> {
  return generateEvents(options.signal, (push, signal, handled) => {
    const { flushEvents } = options;
    const flush = flushEvents && (() => handled().then(flushEvents));
    const run = prepare(options, signal, { push, flush });
    return async () => {
      try {
        await start(run);
      } finally {
        await run.interrupt();
      }
    };
  });
}

interface Events {
  readonly push: (event: StreamEvent) => void;
  readonly flush: (() => Promise<void>) | undefined;
}

/** The host's options for scripts and tools. */
function hostOptions({ provider, approvals, app, principal, context, onOutcome }: Continuing, log: RunLog) {
  const known = { conversationId: log.identity.threadId, provider: provider.api, model: provider.model };
  return { approvals, app, principal, context: { ...known, ...context }, onOutcome };
}

function prepare(options: Continuing, signal: AbortSignal, { push, flush }: Events): AgentRun {
  const { provider, harness, system, loadImage, scriptSourceDeltas = false, subAgents } = options;
  const { clientFunctions = [], parallelToolCalls } = options;
  harness.assertOpen();
  const agent = agentFor(provider, defineAgent(options.agent));
  const interruption = new ScriptInterruption();
  const budget = subAgents?.budget ?? ownBudget(agent, options.earlier);
  const log = openLog(options, push, { flush, takeCall: budget.takeCall, withholds: interruption.withholds });
  const mode = options.mode ?? agent.mode ?? harness.mode;
  const { tools, functions, withoutArguments, callers } = offerTools(harness, agent, mode, clientFunctions);
  const limits = agentLimits(harness, agent, options.limits);
  const results: unknown[] = [];
  const conditions = { harness, log, mode, limits, signal, interruption, ...hostOptions(options, log) };
  const work = {
    emit: log.emit,
    mode,
    modelOutputTokens: limits.modelOutputTokens ?? harness.limits.modelOutputTokens,
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
  const ofScope = { agent, provider, budget, ...scopeOf(options, conditions, log) };
  return new AgentRun({
    provider,
    agent,
    log,
    conditions,
    work,
    tools,
    parallelToolCalls,
    system,
    loadImage,
    results,
    scriptSourceDeltas,
    budget,
    openSubAgents: subAgents && ((ofRun) => subAgents.open({ ...ofScope, ...ofRun })),
  });
}

function openLog(options: Continuing, push: Events['push'], port: RunLogPort): RunLog {
  const { threadId = newId('thr'), runId = newId('run'), turnId = newId('turn'), nextSeq = 0 } = options;
  const { history = [], subAgents } = options;
  const identity = {
    runId,
    threadId,
    turnId,
    nextSeq,
    ...present({ parentRunId: subAgents?.parentRunId, agents: subAgents?.path }),
  };
  return new RunLog(identity, history, push, port);
}

function ownBudget({ tokenBudget: tokens, costBudget: cost }: AgentConfig, earlier: readonly StreamEvent[] = []) {
  return new RunBudget({ tokens, cost }, spentIn(earlier.map(({ payload }) => payload)));
}

/** The members of a scope that do not depend on the state of the run. */
function scopeOf(
  options: Continuing,
  { interruption, log: _log, onOutcome: _onOutcome, ...same }: RunConditions,
  log: RunLog,
) {
  const { loadImage, earlier = [], storeIsWhole = false, decisions = {} } = options;
  const { identity, emit } = log;
  const flush = async () => log.flush?.();
  const runningCalls = () => log.runningCalls;
  const suspend = (approvalIds: readonly string[]) => interruption.interrupt(approvalIds);
  return { ...same, identity, emit, flush, runningCalls, suspend, loadImage, earlier, storeIsWhole, decisions };
}
