import type { Decisions, Harness } from '../harness/index.js';
import type { LoadImage } from '../history/index.js';
import { EventQueue, ToolscriptUsageError } from '../protocol/index.js';
import type {
  ApprovalPolicy,
  HarnessMode,
  JsonObject,
  LimitsInput,
  ModelProvider,
  OutputItem,
  StreamEvent,
} from '../protocol/index.js';
import { newId } from '../text/new-id.js';
import { defineAgent, type AgentInput } from './agent-config.js';
import { AgentRun } from './agent-run.js';
import { agentFor, agentLimits, offerTools } from './offered-tools.js';
import { RunLog } from './run-log.js';

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
  /** Of the `response_done` that said `suspended`. */
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

/** What a person says. */
export function userMessage(content: string): OutputItem {
  return { type: 'message', id: newId('item'), role: 'user', content };
}

function play(
  options: CommonOptions,
  start: (run: AgentRun) => Promise<void>,
): AsyncGenerator<StreamEvent, void, undefined> {
  const queue = new EventQueue<StreamEvent>();
  const stop = new AbortController();
  const signal = options.signal === undefined ? stop.signal : AbortSignal.any([options.signal, stop.signal]);
  const run = prepare(options, signal, (event) => queue.push(event));
  const events = playEvents(queue, stop, () => start(run));
  // A generator's own `return` waits for a `next` that is under way; this one first ends what that waits for.
  const end = events.return.bind(events);
  events.return = (value) => {
    stop.abort();
    return end(value);
  };
  return events;
}

async function* playEvents(
  queue: EventQueue<StreamEvent>,
  stop: AbortController,
  start: () => Promise<void>,
): AsyncGenerator<StreamEvent, void, undefined> {
  const working = start().finally(() => queue.end());
  // Told below; until then nobody listens.
  working.catch(() => {});
  try {
    yield* queue;
    await working;
  } finally {
    stop.abort();
    await working.catch(() => {});
  }
}

function prepare(options: CommonOptions, signal: AbortSignal, listen: (event: StreamEvent) => void): AgentRun {
  const { provider, harness, history = [], system, loadImage } = options;
  const agent = agentFor(provider, defineAgent(options.agent));
  const { threadId = newId('thr'), runId = newId('run'), turnId = newId('turn'), nextSeq = 0 } = options;
  const log = new RunLog({ runId, threadId, turnId, nextSeq }, history, listen);
  const mode = options.mode ?? agent.mode ?? harness.mode;
  const offered = offerTools(harness, agent, mode);
  const limits = agentLimits(harness, agent, options.limits);
  const results: unknown[] = [];
  const work = {
    harness,
    log,
    mode,
    limits,
    modelOutputTokens: limits.modelOutputTokens ?? harness.limits.modelOutputTokens,
    approvals: options.approvals,
    app: options.app,
    principal: options.principal,
    context: { conversationId: threadId, provider: provider.api, model: provider.model, ...options.context },
    continueOnError: agent.continueOnError,
    signal,
    scriptsAreCalls: agent.carrier !== 'text',
    functions: offered.functions,
    withoutArguments: offered.withoutArguments,
    onResult: (result: unknown) => {
      results.push(result);
    },
  };
  const { scriptSourceDeltas = false } = options;
  return new AgentRun({
    provider,
    harness,
    agent,
    log,
    work,
    offered,
    system,
    loadImage,
    results,
    scriptSourceDeltas,
    signal,
  });
}
