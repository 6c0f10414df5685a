import {
  AnswerPlayer,
  AnswerWork,
  putItem,
  type AnswerEnd,
  type ScriptHost,
  type WorkSettings,
} from '../answer/index.js';
import type { Decisions } from '../harness/index.js';
import { resolveImages, type LoadImage } from '../history/index.js';
import type {
  EventPayload,
  FunctionCallItem,
  ModelProvider,
  ModelRequest,
  Outcome,
  OutputItem,
  ToolChoice,
} from '../protocol/index.js';
import { newId, sha256 } from '../text/crypto.js';
import { present } from '../protocol/json.js';
import { SCRIPT_TOOL } from '../protocol/script-tool.js';
import type { AgentConfig } from './agent-config.js';
import { failedEnd, incompleteEnd, type AgentRunEnd, type AgentRunState } from './agent-run-state.js';
import { ContinuedAnswer } from './continued-answer.js';
import { ContextWindow } from './context-window.js';
import { systemText, type OfferedTools } from './offered-tools.js';
import { FinalOutput, systemMessage } from './final-output.js';
import { HostedCodeWatch } from './hosted-code-watch.js';
import { hasFailedScript, type InterruptedRun } from './interrupted-run.js';
import { NextTurn } from './next-turn.js';
import { callsAfter, closingOutput, hasTextAfter, lastSpokenIndex, openCalls, pendingBlock } from './open-calls.js';
import { hostOver, resumeOptions, settledOutcome } from './script-host.js';
import { harnessRefusal, ScriptRecovery, type RecoveryOptions, type RecoverySettings } from './script-recovery.js';
import { RunAccount, SaidText } from './run-account.js';
import type { RunBudget } from './run-budget.js';
import type { SpentUsage } from './spent.js';
import type { RunLog } from './run-log.js';
import type { AgentScope, OfAgentRun, OpenSubAgents } from './sub-agent-host.js';

export interface AgentRunSettings extends RecoverySettings {
  readonly provider: ModelProvider;
  readonly agent: AgentConfig;
  readonly signal: AbortSignal;
  /** The answers that earlier parts of the run requested. */
  readonly earlierTurns: number;
  readonly work: Omit<WorkSettings, 'host'>;
  readonly tools: OfferedTools['tools'];
  readonly parallelToolCalls: boolean | undefined;
  /** The nonce of scripts in the answer's text. Undefined: scripts do not arrive in text. */
  readonly nonce: string | undefined;
  /** Replaces the generated system text. Empty: there is none. */
  readonly system: string | undefined;
  readonly loadImage: LoadImage | undefined;
  /** Results of calls. They may contain images. */
  readonly results: readonly unknown[];
  readonly scriptSourceDeltas: boolean;
  /** The JSON Schema of the final answer. Undefined: the answer is text. */
  readonly outputSchema: unknown;
  readonly budget: RunBudget;
  /** The usage of the run before this part of it. */
  readonly spentEarlier: SpentUsage;
  /** Undefined: the run can launch no sub-agents. */
  readonly openSubAgents: ((ofRun: OfAgentRun) => OpenSubAgents) | undefined;
}

/** Maximum time in ms that the provider may continue after the signal aborts. */
const GRACE_MS = 2000;

export class AgentRun {
  readonly #settings: AgentRunSettings;
  readonly #log: RunLog;
  readonly #host: ScriptHost;
  readonly #account: RunAccount;
  #subAgents: OpenSubAgents | undefined;
  readonly #system: string | undefined;
  /** The same for all threads that begin with this system text and these tools. */
  readonly #cacheKey: string;
  readonly #window: ContextWindow;
  readonly #hostedCode: HostedCodeWatch;
  readonly #output: FinalOutput | undefined;
  readonly #recovery: ScriptRecovery;
  readonly #nextTurn: NextTurn;
  /** The answers so far, including those before the run's approvals and interruptions. */
  #turns: number;
  /** The tool choice of the next answer. */
  #toolChoice: ToolChoice | undefined;

  constructor(settings: AgentRunSettings) {
    this.#settings = settings;
    this.#log = settings.log;
    const { agent, system, harness, mode, nonce, scriptSourceDeltas, budget } = settings;
    const { provider, signal, outputSchema } = settings;
    this.#turns = settings.earlierTurns;
    const isStrict = settings.openSubAgents !== undefined;
    this.#account = new RunAccount({
      agent,
      budget,
      isStrict,
      emit: settings.log.emit,
      earlier: settings.spentEarlier,
    });
    this.#host = hostOver(settings, { nonce, sourceDeltas: scriptSourceDeltas && this.#scriptsInText === 'run' });
    const text = system ?? systemText(harness, agent, { mode, nonce });
    this.#system = text === '' ? undefined : text;
    this.#hostedCode = new HostedCodeWatch(this.#log, provider.api, settings.work.callers.size > 0);
    this.#output =
      outputSchema === undefined ? undefined : new FinalOutput(outputSchema, provider, agent.carrier !== 'text');
    const beginning = () => `${this.#system}${JSON.stringify(settings.tools)}`;
    this.#cacheKey = sha256(beginning()).slice(0, 32);
    const window = { log: this.#log, account: this.#account, provider, signal };
    this.#window = new ContextWindow({ ...window, size: agent.contextWindow, beginning });
    this.#recovery = new ScriptRecovery(settings);
    this.#nextTurn = new NextTurn(settings, { hostedCode: this.#hostedCode, output: this.#output });
  }

  async start(
    input: readonly OutputItem[],
    {
      toolChoice,
      mayHaveBegun,
    }: {
      readonly toolChoice: ToolChoice | undefined;
      readonly mayHaveBegun: boolean;
    },
  ): Promise<void> {
    const lost = await this.#recovery.lostScripts(mayHaveBegun);
    this.#begin({ input });
    for (const call of openCalls(this.#log.items)) putItem(this.#log.emit, closingOutput(call));
    const asked = this.#output?.instruction;
    if (asked !== undefined) putItem(this.#log.emit, systemMessage(asked));
    this.#toolChoice = toolChoice;
    if (lost.length === 0) return this.#go({ type: 'asking' });
    const work = this.#newWork();
    await this.#recovery.recoverLost(work, lost);
    await this.#go({ type: 'deciding', end: { status: 'completed' }, hasResults: true, waiting: work.waiting });
  }

  /**
   * Resumes a suspended script, then runs the rest of the script's answer. A script that a user has
   * cancelled since is reported as cancelled.
   */
  async resume(suspension: string, decisions: Decisions, mayBeResumed: boolean): Promise<void> {
    await this.#continueWith(async () => {
      const { harness } = this.#settings;
      const resumed = await harness.resume(suspension, decisions, resumeOptions(this.#settings));
      const outcome = settledOutcome(this.#settings, resumed);
      if (harnessRefusal(outcome) === undefined || !harness.hasStore) return outcome;
      const hasStarted = mayBeResumed || (await this.#recovery.isCancelled(suspension));
      return hasStarted ? this.#recovery.recover(suspension, { force: true, evenEnded: true }) : outcome;
    }, mayBeResumed);
  }

  /** Recovers an interrupted script, then runs the rest of the script's answer. */
  async recoverScript(
    scriptId: string,
    {
      mayHaveLost = false,
      ...how
    }: {
      readonly force: boolean;
      readonly evenEnded?: boolean | undefined;
      readonly mayHaveLost?: boolean | undefined;
    },
  ): Promise<void> {
    await this.#continueWith(() => this.#recovery.recover(scriptId, how), mayHaveLost);
  }

  #begin(members: { readonly input?: readonly OutputItem[] | undefined }): void {
    this.#log.emit({ type: 'response_start', ...members });
    const addUsage: AgentScope['addUsage'] = (usage, cost) => this.#account.addOthers(usage, cost);
    const answerArrived = () => this.#account.arrival;
    this.#subAgents = this.#settings.openSubAgents?.({ addUsage, answerArrived });
  }

  /**
   * Interrupts the sub-agents, unless they have ended. The process that resumes this run also resumes these sub-agents.
   */
  async interrupt(): Promise<void> {
    await this.#subAgents?.close('interrupted');
  }

  /** `mayHaveLost`: an earlier process may have begun to continue the run, and events that it emitted were lost. */
  async #continueWith(start: () => Promise<Outcome>, mayHaveLost: boolean): Promise<void> {
    const lost = await this.#recovery.lostScripts(mayHaveLost);
    // If the script belongs to an earlier run, this run begins here, without input.
    this.#begin(this.#log.nextSeq === 0 ? { input: [] } : {});
    const outcome = await start();
    // The harness refused to continue the script, for example because another process has claimed the script.
    const refusal = harnessRefusal(outcome);
    if (refusal !== undefined) return this.#end(failedEnd(this.#log, { code: refusal.code, message: refusal.message }));
    this.#recovery.emitRequests(outcome);
    const call = this.#resumedCall(outcome);
    const rest = this.#newWork({ hasFailed: outcome.status === 'failed' && call === undefined });
    if (call === undefined || outcome.status === 'suspended') rest.note({ outcome });
    else rest.endCall(outcome.operations[0]!, call);
    this.#settings.onOutcome?.(outcome);
    const last = this.#log.items.at(-1);
    if (last?.type === 'script_execution_output' || last?.type === 'function_call_output')
      await this.#playRest(rest, last.call_id);
    await this.#recovery.recoverLost(rest, lost);
    await this.#go({ type: 'deciding', end: { status: 'completed' }, hasResults: true, waiting: rest.waiting });
  }

  /**
   * Continues a run whose process ended: cancels the open items, recovers the script or call that ran, runs the rest of
   * the last answer, and asks the model again.
   */
  async recover(run: InterruptedRun, how: RecoveryOptions): Promise<void> {
    const lost = await this.#recovery.lostScripts(true);
    this.#begin({});
    const spoken = this.#log.items.slice(lastSpokenIndex(this.#log.items)).map(({ id }) => id);
    this.#cancel(run.openItems);
    const adopted = this.#recovery.adopt(lost, run.itemIds);
    // A lost script may be one of the answer, which would run it again.
    const continued = lost.length > adopted.size ? undefined : ContinuedAnswer.of(run, this.#log.items);
    const unfinished = spoken.filter((id) => run.itemIds.has(id) && !run.openItems.includes(id));
    if (continued === undefined) this.#cancel(unfinished);
    const open = openCalls(this.#log.items).filter(
      ({ id, script_id }) => run.itemIds.has(id) || adopted.has(script_id),
    );
    const isKnown = (name: string) => this.#knowsTool(name);
    const work = this.#newWork({ hasFailed: hasFailedScript(this.#log.items, open[0]?.answer_id), isKnown });
    for (const call of open) if (work.waiting === undefined) await this.#recovery.recoverCall(work, call, run, how);
    await this.#recovery.recoverLost(
      work,
      lost.filter(({ scriptId }) => !adopted.has(scriptId)),
    );
    const state = continued && (await this.#continueAnswer(continued, work));
    if (continued !== undefined && state === undefined) this.#cancel(unfinished);
    const again = { type: 'deciding', end: { status: 'completed' }, hasResults: true, waiting: work.waiting } as const;
    await this.#go(state ?? again);
  }

  #cancel(ids: readonly string[]): void {
    const reason = 'The process ended before this item was complete.';
    for (const id of ids) this.#log.emit({ type: 'item_cancelled', item_id: id, reason });
  }

  /**
   * The structured call that this run resumed; undefined if the run resumed a script. A later prompt may have closed
   * the call.
   */
  #resumedCall({ operations: [operation] }: Outcome): FunctionCallItem | undefined {
    return this.#log.items.find(
      (item): item is FunctionCallItem => item.type === 'function_call' && item.call_id === operation?.callId,
    );
  }

  #newWork({
    hasFailed = false,
    isKnown,
  }: { readonly hasFailed?: boolean } & Pick<WorkSettings, 'isKnown'> = {}): AnswerWork {
    return new AnswerWork({ ...this.#settings.work, host: this.#host, isKnown }, hasFailed);
  }

  #knowsTool(name: string): boolean {
    const { harness, work } = this.#settings;
    return name === SCRIPT_TOOL || work.functions.has(name) || harness.tools().some((tool) => tool.name === name);
  }

  /**
   * How the player treats scripts in the answer's text: it runs them, replaces them with a warning, or leaves them as
   * text.
   */
  get #scriptsInText(): 'run' | 'warn' | 'none' {
    const { agent, mode } = this.#settings;
    if (agent.carrier !== 'text') return 'none';
    return mode === 'disabled' ? 'warn' : 'run';
  }

  async #playRest(rest: AnswerWork, callId: string): Promise<void> {
    for (const call of callsAfter(this.#log.items, callId)) {
      if (call.type === 'function_call') await rest.call(call);
      else if (call.status === 'pending' && rest.waiting === undefined) await rest.script(pendingBlock(call));
    }
  }

  async #go(from: AgentRunState): Promise<void> {
    let state = from;
    while (state.type !== 'done') state = await this.#step(state);
    await this.#end(state);
  }

  #step(state: Exclude<AgentRunState, AgentRunEnd>): AgentRunState | Promise<AgentRunState> {
    switch (state.type) {
      case 'asking':
        return this.#ask();
      case 'compacting':
        return this.#window.summarise((conversation) => this.#request(conversation));
      case 'deciding':
        return this.#nextTurn.after(state);
    }
  }

  async #ask(): Promise<AgentRunState> {
    const { provider, signal, harness } = this.#settings;
    if (signal.aborted) return { type: 'done', status: 'cancelled' };
    // A closed harness cannot run the scripts of the answer. The run gets no last event, so that a host can recover the
    // run.
    harness.assertOpen();
    const spent = this.#spentLimit();
    if (spent !== undefined) return incompleteEnd(spent);
    this.#hostedCode.reportLost();
    const conversation = this.#log.conversation();
    if (this.#window.isFull(conversation) && !this.#hostedCode.waits) return { type: 'compacting' };
    this.#turns += 1;
    const stop = new AbortController();
    const either = AbortSignal.any([signal, stop.signal]);
    const work = this.#newWork({ isKnown: (name) => this.#knowsTool(name) });
    const request = this.#account.boundedRequest({
      ...this.#request(conversation),
      ...present({ toolChoice: this.#toolChoice }),
    });
    if (typeof request === 'string') return incompleteEnd(request);
    this.#toolChoice = undefined;
    const answered = this.#account.arriving(provider.stream(request, { signal: either, answerId: newId('answer') }));
    const end = await this.#play(answered, { request, work, stop: () => stop.abort(), signal: either });
    await work.endAnswer((call) => end.status === 'completed' && hasTextAfter(this.#log.items, call));
    this.#window.noteAnswer(conversation.length);
    return { type: 'deciding', end, hasResults: work.started > 0, waiting: work.waiting };
  }

  /**
   * Plays the rest of an answer that the service continued after the end of an earlier process. Undefined if the answer
   * cannot be read to its end: the model is then asked again.
   */
  async #continueAnswer(continued: ContinuedAnswer, work: AnswerWork): Promise<AgentRunState | undefined> {
    const { provider, signal, harness } = this.#settings;
    if (signal.aborted) return { type: 'done', status: 'cancelled' };
    harness.assertOpen();
    const request = this.#account.boundedRequest(this.#request(this.#log.conversation()));
    if (typeof request === 'string') return incompleteEnd(request);
    const stop = new AbortController();
    const either = AbortSignal.any([signal, stop.signal]);
    const answered = provider.stream(request, { signal: either, ...continued.options });
    const end = await this.#play(continued.unread(this.#account.arriving(answered)), {
      request,
      work,
      stop: () => stop.abort(),
      signal: either,
      emit: (payload) => continued.isNew(payload) && this.#log.emit(payload),
    });
    await work.endAnswer((call) => end.status === 'completed' && hasTextAfter(this.#log.items, call));
    if (end.status === 'failed' || (end.status === 'cancelled' && !signal.aborted)) return undefined;
    return { type: 'deciding', end, hasResults: continued.hasCalls(this.#log.items), waiting: work.waiting };
  }

  async #play(
    answer: AsyncIterable<EventPayload>,
    {
      request,
      ...playing
    }: {
      request: ModelRequest;
      work: AnswerWork;
      stop: () => void;
      signal: AbortSignal;
      emit?: (payload: EventPayload) => void;
    },
  ): Promise<AnswerEnd> {
    const said = new SaidText();
    let head: EventPayload | undefined;
    const player = new AnswerPlayer({
      emit: this.#log.emit,
      ...playing,
      scriptsInText: this.#scriptsInText,
      stopsAfterScript: this.#settings.agent.afterScript === 'stop',
      detector: () => this.#host.detector(),
      graceMs: GRACE_MS,
      onPayload: (payload) => {
        said.take(payload);
        if (payload.type === 'response_start') head = payload;
        return this.#account.countedPayload(payload);
      },
    });
    const end = await player.play(answer);
    this.#account.endAnswer(request, said, head);
    return end;
  }

  /** The limit of the agent that the run has reached, if any. */
  #spentLimit(): string | undefined {
    return this.#turns >= this.#settings.agent.maxTurns ? 'max_turns' : this.#account.reachedLimit;
  }

  async #end({ status, members }: AgentRunEnd): Promise<void> {
    await this.#subAgents?.close(status === 'suspended' ? 'interrupted' : 'ended');
    this.#log.emit({ ...members, type: 'response_done', status, ...this.#account.totals });
  }

  #request(conversation: readonly OutputItem[]): ModelRequest {
    const { agent, tools, parallelToolCalls, loadImage, results } = this.#settings;
    const { maxOutputTokens, temperature, reasoningEffort } = agent;
    const within = [...conversation, ...results];
    return {
      system: this.#system,
      maxOutputTokens,
      temperature,
      reasoningEffort,
      conversation,
      ...(tools.length === 0 ? {} : { tools, parallelToolCalls }),
      promptCache: { key: this.#cacheKey },
      outputSchema: this.#output?.requested,
      resolveImages: (images) => resolveImages(images, { within, loadImage }),
    };
  }
}
