import type { Decisions, Harness } from '../harness/index.js';
import type { LoadImage } from '../history/index.js';
import { generateEvents } from '../answer/index.js';
import { ToolscriptUsageError } from '../protocol/index.js';
import type {
  ApprovalPolicy,
  HarnessMode,
  JsonObject,
  LimitsInput,
  ModelProvider,
  Outcome,
  OutputItem,
  StreamEvent,
} from '../protocol/index.js';
import { newId } from '../text/new-id.js';
import { defineAgent, type AgentInput } from './agent-config.js';
import { AgentRun } from './agent-run.js';
import { agentFor, agentLimits, offerTools } from './offered-tools.js';
import { interruptedRun } from './interrupted-run.js';
import { extendHistory, RunLog } from './run-log.js';

interface CommonOptions {
  provider: ModelProvider;
  harness: Harness;
  agent: AgentInput;
  /** The conversation so far: see `extendHistory`. */
  history?: readonly OutputItem[];
  signal?: AbortSignal;
  /** Over the agent's own, and the harness's. */
  mode?: HarnessMode;
  limits?: Partial<LimitsInput>;
  /** Replaces the harness's approvals for this run. */
  approvals?: ApprovalPolicy;
  /** The host's own context for tools. */
  app?: unknown;
  /** Whose run it is. */
  principal?: string;
  /** Members of the scripts' `context`. */
  context?: JsonObject;
  /** The thread's system text, where it was kept. Default: made from the harness and the agent. */
  system?: string;
  /** Finds the bytes of images. */
  loadImage?: LoadImage;
  /** Called with the outcome of each script; a suspended one has its `suspension`. */
  onOutcome?: (outcome: Outcome) => void;
  /** Names for the run's events; made up where left out. */
  runId?: string;
  threadId?: string;
  turnId?: string;
  /** For scripts in text: tell their source while it is typed, as of `processText`. Default false. */
  scriptSourceDeltas?: boolean;
  /** Where the run's events go on, behind those of a run of the same `runId` that was suspended. */
  nextSeq?: number;
}

export interface RunAgentOptions extends CommonOptions {
  /** What the person says, or the items of it. */
  input: string | readonly OutputItem[];
}

export interface ResumeAgentOptions extends CommonOptions {
  /** The `script_id` of the `response_done` that said `suspended`, or the `suspension` of the script's outcome. */
  suspension: string;
  /** By approval. What is left out stays pending. */
  decisions?: Decisions;
}

/**
 * Lets a model work: answers, their scripts and calls, and their results, until an answer asks for nothing. The events
 * of it are one run; `response_done` is the last. Leaving the loop early ends what runs. What the model, its provider
 * and its scripts do wrong is told in the events; what the host does wrong is thrown.
 */
export function runAgent(options: RunAgentOptions): AsyncGenerator<StreamEvent, void, undefined> {
  const { input } = options;
  const items = typeof input === 'string' ? [userMessage(input)] : input;
  if (!Array.isArray(items)) throw new ToolscriptUsageError('runAgent needs the input as text, or as items.');
  return play(options, (run) => run.start(items as readonly OutputItem[]));
}

/**
 * Goes on with a run that was suspended: finishes the script and what stands behind it in its answer, gives their
 * results to the model, and goes on. `history` is the conversation with the suspended run in it.
 */
export function resumeAgent(options: ResumeAgentOptions): AsyncGenerator<StreamEvent, void, undefined> {
  const { suspension, decisions = {} } = options;
  if (typeof suspension !== 'string') throw new ToolscriptUsageError('resumeAgent needs the suspension as a string.');
  return play(options, (run) => run.resume(suspension, decisions));
}

export interface ResumeRunOptions extends Omit<CommonOptions, 'runId' | 'threadId' | 'turnId' | 'nextSeq'> {
  /** All stored events of the run, in order. */
  events: readonly StreamEvent[];
  /** By approval. Approvals that are left out stay pending. */
  decisions?: Decisions;
}

export interface RecoverRunOptions extends Omit<ResumeRunOptions, 'decisions'> {
  /** Claims a script even if its holder may be alive. Default false. */
  force?: boolean;
}

/** Resumes a suspended run from its stored events. `history` is the conversation before the run. */
export function resumeRun({ events, decisions, ...options }: ResumeRunOptions): AsyncGenerator<StreamEvent> {
  const last = events.at(-1)?.payload;
  if (last?.type !== 'response_done' || last.status !== 'suspended' || last.script_id === undefined)
    throw new ToolscriptUsageError('resumeRun needs the events of a run that ends suspended.');
  const suspension = last.script_id;
  return resumeAgent({ ...continuing(options, events), suspension, ...(decisions === undefined ? {} : { decisions }) });
}

/**
 * Continues a run whose process ended, from its stored events. Completed items stay, a half answer is closed as
 * interrupted, and a script continues from its journal. A call with effects that has no result is reported as unknown
 * to the model; nothing is done twice. `history` is the conversation before the run.
 */
export function recoverRun({ events, force = false, ...options }: RecoverRunOptions): AsyncGenerator<StreamEvent> {
  const last = events.at(-1)?.payload;
  if (last === undefined || last.type === 'response_done')
    throw new ToolscriptUsageError(
      'recoverRun needs the events of a run that has not ended; resumeRun resumes a suspended one.',
    );
  const interrupted = interruptedRun(events);
  const closed = interrupted.openItems.map((id): StreamEvent => ({
    ...events.at(-1)!,
    payload: { type: 'item_cancelled', item_id: id },
  }));
  return play(continuing(options, [...events, ...closed]), (run) => run.recover(interrupted, force));
}

function continuing(
  { history = [], ...options }: Omit<CommonOptions, 'runId' | 'threadId' | 'turnId' | 'nextSeq'>,
  events: readonly StreamEvent[],
): CommonOptions {
  const { run_id: runId, thread_id: threadId, turn_id: turnId, seq } = events.at(-1)!;
  return {
    ...options,
    history: extendHistory(history, events),
    runId,
    threadId,
    turnId,
    nextSeq: seq + 1,
  };
}

/** What a person says. */
export function userMessage(content: string): OutputItem {
  return { type: 'message', id: newId('item'), role: 'user', content };
}

function play(
  options: CommonOptions,
  start: (run: AgentRun) => Promise<void>,
): AsyncGenerator<StreamEvent, void, undefined> {
  return generateEvents(options.signal, (push, signal) => {
    const run = prepare(options, signal, push);
    return () => start(run);
  });
}

function prepare(options: CommonOptions, signal: AbortSignal, listen: (event: StreamEvent) => void): AgentRun {
  const { provider, harness, history = [], system, loadImage, scriptSourceDeltas = false } = options;
  const agent = agentFor(provider, defineAgent(options.agent));
  const { threadId = newId('thr'), runId = newId('run'), turnId = newId('turn'), nextSeq = 0 } = options;
  const log = new RunLog({ runId, threadId, turnId, nextSeq }, history, listen);
  const mode = options.mode ?? agent.mode ?? harness.mode;
  const { tools, functions, withoutArguments } = offerTools(harness, agent, mode);
  const limits = agentLimits(harness, agent, options.limits);
  const results: unknown[] = [];
  const conditions = {
    harness,
    log,
    mode,
    limits,
    approvals: options.approvals,
    app: options.app,
    principal: options.principal,
    context: { conversationId: threadId, provider: provider.api, model: provider.model, ...options.context },
    signal,
    onOutcome: options.onOutcome,
  };
  const work = {
    emit: log.emit,
    mode,
    modelOutputTokens: limits.modelOutputTokens ?? harness.limits.modelOutputTokens,
    continueOnError: agent.continueOnError,
    scriptsAreCalls: agent.carrier !== 'text',
    functions,
    withoutArguments,
    onResult: (result: unknown) => {
      results.push(result);
    },
  };
  return new AgentRun({
    provider,
    agent,
    log,
    conditions,
    work,
    tools,
    system,
    loadImage,
    results,
    scriptSourceDeltas,
  });
}
