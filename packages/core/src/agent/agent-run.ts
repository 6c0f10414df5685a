import {
  AnswerPlayer,
  AnswerWork,
  putItem,
  savedScriptId,
  scriptOfCall,
  type AnswerEnd,
  type ProviderFailure,
  type ScriptHost,
  type Waiting,
  type WorkSettings,
} from '../answer/index.js';
import type { Decisions, KeptScriptDetails } from '../harness/index.js';
import { resolveImages, type LoadImage } from '../history/index.js';
import type {
  EventPayload,
  FunctionCallItem,
  ModelProvider,
  ModelRequest,
  Operation,
  Outcome,
  OutputItem,
  ResponseStatus,
  ScriptExecutionItem,
  ScriptFailure,
  ToolChoice,
} from '../protocol/index.js';
import { newId, sha256 } from '../text/crypto.js';
import { present } from '../protocol/json.js';
import { SCRIPT_TOOL } from '../protocol/script-tool.js';
import { toSnakeCase } from '../protocol/spelling.js';
import type { AgentConfig } from './agent-config.js';
import { compactionItem, compactionRequest, ContextSize, readText } from './compaction.js';
import { systemText, type OfferedTools } from './offered-tools.js';
import { FinalOutput, invalidOutput, scriptValue, systemMessage, type ReadOutput } from './final-output.js';
import { missingNonce } from './missing-nonce.js';
import { unrunCalls } from './unrun-calls.js';
import { HostedCodeWatch } from './hosted-code-watch.js';
import { hasFailedScript, interruptedRun, itemScript, type InterruptedRun } from './interrupted-run.js';
import {
  callsAfter,
  closingOutput,
  hasTextAfter,
  lastSpokenIndex,
  openCalls,
  pendingBlock,
  type OpenCall,
} from './open-calls.js';
import type { RunLog } from './run-log.js';
import { hostOver, resumeOptions, settledOutcome, type ScriptConditions } from './script-host.js';
import { RunAccount, SaidText } from './run-account.js';
import type { RunBudget } from './run-budget.js';
import type { AgentScope, OfAgentRun, OpenSubAgents } from './sub-agent-host.js';

export interface AgentRunSettings extends ScriptConditions {
  readonly provider: ModelProvider;
  readonly agent: AgentConfig;
  readonly signal: AbortSignal;
  /** The answers that earlier parts of the run requested. */
  readonly earlierTurns: number;
  /** The ids of the scripts that the stored events of the run name. */
  readonly namedScripts: ReadonlySet<string>;
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
  /** Undefined: the run can launch no sub-agents. */
  readonly openSubAgents: ((ofRun: OfAgentRun) => OpenSubAgents) | undefined;
}

/**
 * The state of a run. The run requests answers until an answer contains no script and no call, or until a script
 * returns the final answer.
 *
 *   compacting ◀──too long──┐
 *     │ └──a summary──▶ asking ──an answer──▶ deciding ──scripts or calls ran──▶ asking
 *     │                   │                      │
 *     │                   │                      └──nothing ran, suspended, failed, cancelled or incomplete──▶ done
 *     └──no summary───────┴──limit reached, cancelled──▶ done
 */
type State = { readonly type: 'asking' | 'compacting' } | Deciding | AgentRunEnd;

interface Deciding {
  readonly type: 'deciding';
  readonly end: AnswerEnd;
  /** Whether the conversation has results that the model has not read. */
  readonly hasResults: boolean;
  readonly waiting: Waiting | undefined;
}

interface AgentRunEnd {
  readonly type: 'done';
  readonly status: ResponseStatus;
  readonly members?: Readonly<Record<string, unknown>> | undefined;
}

export interface RecoveryOptions {
  readonly force: boolean;
  /** True: a script without a journal has performed only reads. */
  readonly storeIsWhole: boolean;
}

/** Reasons for an incomplete answer that end the run, even if the answer's scripts or calls have results. */
const FINAL_REASONS = ['content_filter', 'context_window', 'refusal'];

/** Maximum time in ms that the provider may continue after the signal aborts. */
const GRACE_MS = 2000;

/** Maximum consecutive answers after which a model reads that the nonce is missing. */
const MAX_REMINDERS = 2;

export class AgentRun {
  readonly #settings: AgentRunSettings;
  readonly #log: RunLog;
  readonly #host: ScriptHost;
  readonly #account: RunAccount;
  #subAgents: OpenSubAgents | undefined;
  readonly #system: string | undefined;
  /** The same for all threads that begin with this system text and these tools. */
  readonly #cacheKey: string;
  readonly #size: ContextSize;
  readonly #hostedCode: HostedCodeWatch;
  readonly #output: FinalOutput | undefined;
  /** The answers so far, including those before the run's approvals and interruptions. */
  #turns: number;
  /** The tool choice of the next answer. */
  #toolChoice: ToolChoice | undefined;
  /** True directly after a summary: a second summary would not shorten the conversation further. */
  #isCompacted = false;
  /** The consecutive answers so far whose block had no nonce. */
  #reminders = 0;

  constructor(settings: AgentRunSettings) {
    this.#settings = settings;
    this.#log = settings.log;
    const { agent, system, harness, mode, nonce, scriptSourceDeltas, budget } = settings;
    this.#turns = settings.earlierTurns;
    const isStrict = settings.openSubAgents !== undefined;
    this.#account = new RunAccount({ agent, budget, isStrict, emit: settings.log.emit });
    this.#host = hostOver(settings, { nonce, sourceDeltas: scriptSourceDeltas && this.#scriptsInText === 'run' });
    const text = system ?? systemText(harness, agent, { mode, nonce });
    this.#system = text === '' ? undefined : text;
    this.#hostedCode = new HostedCodeWatch(this.#log, settings.provider.api, settings.work.callers.size > 0);
    const { provider, outputSchema } = settings;
    this.#output =
      outputSchema === undefined ? undefined : new FinalOutput(outputSchema, provider, agent.carrier !== 'text');
    const beginning = () => `${this.#system}${JSON.stringify(settings.tools)}`;
    this.#cacheKey = sha256(beginning()).slice(0, 32);
    this.#size = new ContextSize(agent.contextWindow, beginning);
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
    const lost = await this.#lostScripts(mayHaveBegun);
    this.#begin({ input });
    for (const call of openCalls(this.#log.items)) putItem(this.#log.emit, closingOutput(call));
    const asked = this.#output?.instruction;
    if (asked !== undefined) putItem(this.#log.emit, systemMessage(asked));
    this.#toolChoice = toolChoice;
    if (lost.length === 0) return this.#go({ type: 'asking' });
    const work = this.#newWork();
    await this.#recoverLost(work, lost);
    await this.#go({ type: 'deciding', end: { status: 'completed' }, hasResults: true, waiting: work.waiting });
  }

  /** Resumes a suspended script, then runs the rest of the script's answer. */
  async resume(suspension: string, decisions: Decisions, mayBeResumed: boolean): Promise<void> {
    await this.#continueWith(async () => {
      const { harness } = this.#settings;
      const resumed = await harness.resume(suspension, decisions, resumeOptions(this.#settings));
      const outcome = settledOutcome(this.#settings, resumed);
      const hasStarted = mayBeResumed && harnessRefusal(outcome) !== undefined && harness.hasStore;
      return hasStarted
        ? this.#recover(suspension, this.#scriptItem(suspension), { force: true, evenEnded: true })
        : outcome;
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
    await this.#continueWith(() => this.#recover(scriptId, this.#scriptItem(scriptId), how), mayHaveLost);
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

  #scriptItem(scriptId: string): ScriptExecutionItem | undefined {
    return this.#log.items.find(
      (item): item is ScriptExecutionItem => item.type === 'script_execution' && item.script_id === scriptId,
    );
  }

  /** `mayHaveLost`: an earlier process may have begun to continue the run, and events that it emitted were lost. */
  async #continueWith(start: () => Promise<Outcome>, mayHaveLost: boolean): Promise<void> {
    const lost = await this.#lostScripts(mayHaveLost);
    // If the script belongs to an earlier run, this run begins here, without input.
    this.#begin(this.#log.nextSeq === 0 ? { input: [] } : {});
    const outcome = await start();
    // The harness refused to continue the script, for example because another process has claimed the script.
    const refusal = harnessRefusal(outcome);
    if (refusal !== undefined) return this.#end(this.#reportFailure({ code: refusal.code, message: refusal.message }));
    this.#emitRequests(outcome);
    const call = this.#resumedCall(outcome);
    const rest = this.#newWork({ hasFailed: outcome.status === 'failed' && call === undefined });
    if (call === undefined || outcome.status === 'suspended') rest.note({ outcome });
    else rest.endCall(outcome.operations[0]!, call);
    this.#settings.onOutcome?.(outcome);
    const last = this.#log.items.at(-1);
    if (last?.type === 'script_execution_output' || last?.type === 'function_call_output')
      await this.#playRest(rest, last.call_id);
    await this.#recoverLost(rest, lost);
    await this.#go({ type: 'deciding', end: { status: 'completed' }, hasResults: true, waiting: rest.waiting });
  }

  /**
   * Continues a run whose process ended: cancels the open items, recovers the script or call that ran, runs the rest of
   * the last answer, and asks the model again.
   */
  async recover(run: InterruptedRun, how: RecoveryOptions): Promise<void> {
    const lost = await this.#lostScripts(true);
    this.#begin({});
    const reason = 'The process ended before this item was complete.';
    const ends = this.#log.items.slice(lastSpokenIndex(this.#log.items)).map(({ id }) => id);
    const unfinished = new Set([...run.openItems, ...ends.filter((id) => run.itemIds.has(id))]);
    for (const id of unfinished) this.#log.emit({ type: 'item_cancelled', item_id: id, reason });
    const adopted = this.#adopt(lost, run.itemIds);
    const open = openCalls(this.#log.items).filter(
      ({ id, script_id }) => run.itemIds.has(id) || adopted.has(script_id),
    );
    const work = this.#newWork({ hasFailed: hasFailedScript(this.#log.items, open[0]?.answer_id) });
    for (const call of open) if (work.waiting === undefined) await this.#recoverCall(work, call, run, how);
    await this.#recoverLost(
      work,
      lost.filter(({ scriptId }) => !adopted.has(scriptId)),
    );
    await this.#go({ type: 'deciding', end: { status: 'completed' }, hasResults: true, waiting: work.waiting });
  }

  /**
   * The scripts that the store links to this run and that no event names, because the events were lost. The run of a
   * sub-agent leaves them to the run that began the chain. They are read before this run makes scripts itself.
   */
  async #lostScripts(mayHaveLost: boolean): Promise<readonly KeptScriptDetails[]> {
    const { harness, options, log, namedScripts: named } = this.#settings;
    const { runId, parentRunId } = log.identity;
    if (!mayHaveLost || parentRunId !== undefined) return [];
    const except = new Set([...named, ...log.items.flatMap((item) => itemScript(item) ?? [])]);
    // defence: lost-scripts-are-recovered
    return harness.scriptsOfRun(runId, { principal: options.principal, except });
  }

  /** Assigns lost scripts to the open calls of the run that contain their source. Returns the ids of these scripts. */
  #adopt(lost: readonly KeptScriptDetails[], itemIds: ReadonlySet<string>): ReadonlySet<unknown> {
    const adopted = new Set<unknown>();
    for (const { scriptId, source, call } of lost) {
      if (call !== undefined) continue;
      const open = openCalls(this.#log.items).find((one) => itemIds.has(one.id) && unstartedScript(one) === source);
      if (open === undefined) continue;
      adopted.add(scriptId);
      const changes = { status: 'executing', script_id: scriptId };
      if (open.type === 'script_execution') this.#log.emit({ type: 'item_update', item_id: open.id, changes });
      else putItem(this.#log.emit, this.#lostItem({ scriptId, source }, open));
    }
    return adopted;
  }

  /** Emits the items of lost scripts, and recovers the scripts. */
  async #recoverLost(work: AnswerWork, lost: readonly KeptScriptDetails[]): Promise<void> {
    for (const { scriptId, source, call } of lost) {
      if (work.waiting !== undefined) return;
      const item =
        call === undefined
          ? this.#lostItem({ scriptId, source })
          : ({
              type: 'function_call',
              id: newId('item'),
              call_id: call.callId,
              name: call.name,
              arguments: JSON.stringify(call.input),
            } as const);
      putItem(this.#log.emit, item);
      const startedCalls = new Map([[item.call_id, { effect: 'external' as const, scriptId }]]);
      const how = { force: true, storeIsWhole: false };
      await this.#recoverCall(work, item, { ...interruptedRun([]), startedCalls }, how);
    }
  }

  #lostItem({ scriptId, source }: { scriptId: string; source: string }, call?: FunctionCallItem): ScriptExecutionItem {
    const { carrier } = this.#settings.agent;
    return {
      type: 'script_execution',
      id: newId('item'),
      call_id: call?.call_id ?? newId('call'),
      language: 'ts',
      format: carrier === 'text' ? 'xml' : 'tool',
      ...(carrier === 'tool' || carrier === 'custom' ? { carrier } : {}),
      ...(call === undefined ? {} : present({ api: call.api, answer_id: call.answer_id })),
      source_code: source,
      source_sha256: sha256(source),
      status: 'executing',
      script_id: scriptId,
    };
  }

  async #recoverCall(work: AnswerWork, call: OpenCall, run: InterruptedRun, how: RecoveryOptions): Promise<void> {
    const started = run.startedCalls.get(call.call_id);
    if (call.type === 'script_execution' && call.status === 'pending') return work.script(pendingBlock(call));
    const saved = await this.#savedCall(run.requestedCalls.get(call.call_id), call);
    // A call that no script saves may run again if the call is a read or has not started.
    const mayRepeat = saved === undefined && (started === undefined || started.effect === 'read');
    if (call.type === 'function_call' && mayRepeat) return work.call(call);
    const scriptId = call.type === 'script_execution' ? call.script_id : (started?.scriptId ?? saved);
    const outcome = await this.#recoveredOutcome(scriptId, call, how.force);
    const isWhole = how.storeIsWhole || this.#settings.harness.hasFlushedStore;
    if (outcome === undefined && isWhole && (await this.#hasOnlyRead(call, run)))
      return work.script(pendingBlock(call as ScriptExecutionItem));
    if (outcome === undefined)
      return putItem(this.#log.emit, closingOutput(call, true, await this.#storedOperations(scriptId)));
    this.#emitRequests(outcome);
    this.#settings.onOutcome?.(outcome);
    if (call.type === 'script_execution' || outcome.status === 'suspended') work.note({ outcome });
    else work.endCall(outcome.operations[0]!, call);
  }

  /**
   * Emits the requests for approval that the run's events do not contain: another run requested them, or the process
   * ended before it had stored the events. The requests of sub-agents are in the events of the sub-agents.
   */
  #emitRequests(outcome: Outcome): void {
    if (outcome.status !== 'suspended' || this.#settings.interruption.isInterrupted) return;
    for (const request of outcome.pendingApprovals)
      if (!this.#log.hasRequested(request.approvalId))
        this.#log.emit({ type: 'approval_requested', approval: toSnakeCase(request) });
  }

  /**
   * The script that saves a structured call; undefined if the store has none. `named`: the script that an event names.
   */
  async #savedCall(named: string | undefined, call: OpenCall): Promise<string | undefined> {
    const { harness, options } = this.#settings;
    const scriptId = named ?? (call.type === 'function_call' ? savedScriptId(call) : undefined);
    if (scriptId === undefined || !harness.hasStore) return undefined;
    return (await harness.inspect(scriptId, { principal: options.principal })) === undefined ? undefined : scriptId;
  }

  /**
   * The outcome of a recovered script; undefined if the store has no such script, or the harness cannot recover the
   * script.
   */
  async #recoveredOutcome(scriptId: string | undefined, call: OpenCall, force: boolean): Promise<Outcome | undefined> {
    if (scriptId === undefined || !this.#settings.harness.hasStore) return undefined;
    const script = call.type === 'script_execution' ? call : undefined;
    const outcome = await this.#recover(scriptId, script, { force, evenEnded: true });
    return harnessRefusal(outcome) === undefined ? outcome : undefined;
  }

  /** The operations that the store has of a script. */
  async #storedOperations(scriptId: string | undefined): Promise<readonly Operation[]> {
    const { harness, options } = this.#settings;
    if (scriptId === undefined || !harness.hasStore) return [];
    return (await harness.inspect(scriptId, { principal: options.principal }))?.operations ?? [];
  }

  /**
   * Returns true if the script has made only reads. The store then has no journal of the script, and the script's
   * process can make no call with effects.
   */
  async #hasOnlyRead(call: OpenCall, { startedCalls }: InterruptedRun): Promise<boolean> {
    if (call.type !== 'script_execution' || call.status !== 'executing' || call.script_id === undefined) return false;
    // defence: scripts-with-effects-do-not-run-again
    if ([...startedCalls.values()].some(({ scriptId, effect }) => scriptId === call.script_id && effect !== 'read'))
      return false;
    return this.#settings.harness.abandon(call.script_id);
  }

  async #recover(
    scriptId: string,
    call: ScriptExecutionItem | undefined,
    how: { readonly force: boolean; readonly evenEnded?: boolean | undefined },
  ): Promise<Outcome> {
    const item = call === undefined ? {} : { item: { id: call.id, call_id: call.call_id } };
    const options = { ...resumeOptions(this.#settings), ...item, ...how };
    return settledOutcome(this.#settings, await this.#settings.harness.recover(scriptId, options));
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

  async #go(from: State): Promise<void> {
    let state = from;
    while (state.type !== 'done') state = await this.#step(state);
    await this.#end(state);
  }

  #step(state: Exclude<State, AgentRunEnd>): State | Promise<State> {
    switch (state.type) {
      case 'asking':
        return this.#ask();
      case 'compacting':
        return this.#compact();
      case 'deciding':
        return this.#decide(state);
    }
  }

  async #ask(): Promise<State> {
    const { provider, signal, harness } = this.#settings;
    if (signal.aborted) return { type: 'done', status: 'cancelled' };
    // A closed harness cannot run the scripts of the answer. The run gets no last event, so that a host can recover the
    // run.
    harness.assertOpen();
    const spent = this.#spentLimit();
    if (spent !== undefined) return incomplete(spent);
    this.#hostedCode.reportLost();
    const conversation = this.#log.conversation();
    const isFull = !this.#isCompacted && this.#size.isFull(conversation);
    if (isFull && !this.#hostedCode.waits) return { type: 'compacting' };
    this.#isCompacted = false;
    this.#turns += 1;
    const stop = new AbortController();
    const either = AbortSignal.any([signal, stop.signal]);
    const work = this.#newWork({ isKnown: (name) => this.#knowsTool(name) });
    const request = this.#account.boundedRequest({
      ...this.#request(conversation),
      ...present({ toolChoice: this.#toolChoice }),
    });
    if (typeof request === 'string') return incomplete(request);
    this.#toolChoice = undefined;
    const answered = this.#account.arriving(provider.stream(request, { signal: either, answerId: newId('answer') }));
    const end = await this.#play(answered, { request, work, stop: () => stop.abort(), signal: either });
    await work.endAnswer((call) => end.status === 'completed' && hasTextAfter(this.#log.items, call));
    const items = this.#log.conversation().length;
    const { context_tokens, total_tokens } = this.#account.usage.last ?? {};
    this.#size.note(context_tokens ?? total_tokens, { sent: conversation.length, items });
    return { type: 'deciding', end, hasResults: work.started > 0, waiting: work.waiting };
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
    },
  ): Promise<AnswerEnd> {
    const { emit } = this.#log;
    const said = new SaidText();
    let head: EventPayload | undefined;
    const player = new AnswerPlayer({
      ...playing,
      emit,
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

  /** The model summarises the conversation. Later requests contain the summary instead of the conversation. */
  async #compact(): Promise<State> {
    const { provider, signal } = this.#settings;
    const id = newId('item');
    const before = this.#log.conversation();
    this.#log.emit({ type: 'item_start', item_id: id, item_type: 'compaction' });
    const request = { ...this.#request([...before, compactionRequest()]), outputSchema: undefined };
    const asked = this.#account.boundedRequest(request);
    if (typeof asked === 'string') return this.#cancelCompaction(id, asked);
    const { text, error } = await readText(provider.stream(asked, { signal, answerId: newId('answer') }), asked, {
      usage: this.#account.usage,
      emit: this.#log.emit,
    });
    this.#account.requestDone();
    if (signal.aborted || error !== undefined || text.trim() === '') {
      const why = error ?? {
        code: 'CompactionFailed',
        message:
          'The model returned no summary of the conversation. Send the prompt again, or start a new conversation.',
      };
      this.#log.emit({ type: 'item_error', item_id: id, ...why });
      return signal.aborted ? { type: 'done', status: 'cancelled' } : this.#reportFailure(why);
    }
    this.#account.emitUsage();
    const window = this.#settings.agent.contextWindow!;
    const item = compactionItem(id, text, this.#log.items, { size: this.#size.of(before), window });
    this.#log.emit({ type: 'item_done', item_id: id, final_item: item });
    this.#size.reset();
    this.#isCompacted = true;
    return { type: 'asking' };
  }

  #cancelCompaction(id: string, reason: string): AgentRunEnd {
    this.#log.emit({
      type: 'item_cancelled',
      item_id: id,
      reason: 'The budget has no room for a summary. Start a new conversation.',
    });
    return incomplete(reason);
  }

  #decide({ end: { status, reason, error }, hasResults, waiting }: Deciding): State {
    if (waiting !== undefined) return waitingEnd(waiting, this.#settings.interruption.isInterrupted);
    if (this.#settings.signal.aborted || status === 'cancelled') return { type: 'done', status: 'cancelled' };
    if (error !== undefined) {
      if (!hasResults && this.#hostedCode.takeFailure(error)) return { type: 'asking' };
      if (!hasResults) return this.#reportFailure(error);
      // Scripts and calls that ran keep their results, so the failure ends only the answer.
      this.#log.emit({ type: 'item_error', item_id: newId('item'), ...error });
      return this.#waitsForClient ? { type: 'done', status: 'completed' } : this.#afterResults();
    }
    if (reason !== undefined && FINAL_REASONS.includes(reason)) return this.#finish('incomplete', reason);
    if (hasResults) this.#reminders = 0;
    if (!this.#waitsForClient && hasResults) return this.#afterResults();
    if (!this.#waitsForClient && reason === 'paused') return { type: 'asking' };
    if (status === 'completed' && this.#remindOfNonce()) return { type: 'asking' };
    const advice = status === 'completed' ? this.#unrunCalls() : undefined;
    if (advice !== undefined && this.#hasCorrected) return this.#finish('incomplete', 'unrun_calls');
    if (advice === undefined) return this.#finish(status, reason);
    putItem(this.#log.emit, { ...systemMessage(advice), corrects_calls: true });
    return { type: 'asking' };
  }

  /** The end of a run whose last answer ran nothing. */
  #finish(status: ResponseStatus, reason: string | undefined): State {
    const read = this.#waitsForClient ? undefined : this.#output?.read(this.#log.items, reason);
    if (read?.failure !== undefined) return this.#reportFailure(read.failure);
    return status === 'incomplete' ? incomplete(reason ?? 'other') : this.#finishWith(read, status);
  }

  /** The model reads the results of its scripts and calls, unless the value of a script is the final answer. */
  #afterResults(): State {
    const json = this.#settings.agent.finish === 'script' ? scriptValue(this.#log.items) : undefined;
    if (json === undefined) return { type: 'asking' };
    return this.#finishWith(this.#output === undefined ? { value: JSON.parse(json) } : this.#output.check(json));
  }

  #finishWith(read: ReadOutput | undefined, status: ResponseStatus = 'completed'): State {
    if (read?.problem === undefined) return { type: 'done', status, members: present({ output: read?.value }) };
    if (this.#hasRepaired) return this.#reportFailure(invalidOutput(read.problem));
    putItem(this.#log.emit, { ...systemMessage(this.#output!.repair(read.problem)), repairs_output: true });
    return { type: 'asking' };
  }

  /** Whether the model has been asked to repair its final answer, also in an earlier part of the run. */
  get #hasRepaired(): boolean {
    return this.#hasSince(({ type, role }) => type === 'message' && role === 'user', 'repairs_output');
  }

  /** Whether the model has been shown the right form of its calls since the last result of a call. */
  get #hasCorrected(): boolean {
    return this.#hasSince(
      ({ type, role }) => (type === 'message' && role === 'user') || type.endsWith('_output'),
      'corrects_calls',
    );
  }

  #hasSince(isStart: (item: OutputItem) => boolean, mark: string): boolean {
    const { items } = this.#log;
    return items.slice(items.findLastIndex(isStart) + 1).some((item) => item[mark] === true);
  }

  /** The advice about calls in the last answer that nothing runs. */
  #unrunCalls(): string | undefined {
    const { harness, nonce, mode, agent, outputSchema } = this.#settings;
    if (this.#waitsForClient || agent.carrier === 'hosted') return undefined;
    const { items } = this.#log;
    const said = items.slice(lastSpokenIndex(items));
    const text = said.map((item) => (item.type === 'message' ? item.content : '')).join('\n\n');
    const type = mode === 'disabled' ? 'functions' : agent.carrier === 'text' ? 'block' : 'tool';
    return unrunCalls(text, {
      form: type === 'block' ? { type, nonce } : { type },
      toolNames: () => harness.tools().map(({ name }) => name),
      wantsJson: outputSchema !== undefined,
    });
  }

  /** Reports a block without the nonce in the last answer to the model. Returns false if there is no such block. */
  #remindOfNonce(): boolean {
    const { harness, nonce } = this.#settings;
    if (nonce === undefined || this.#scriptsInText !== 'run' || this.#waitsForClient) return false;
    // defence: reminders-are-few
    if (this.#reminders >= MAX_REMINDERS) return false;
    const { items } = this.#log;
    const reminder = missingNonce(harness, nonce, items.slice(lastSpokenIndex(items)));
    if (reminder === undefined) return false;
    this.#reminders += 1;
    putItem(this.#log.emit, reminder);
    return true;
  }

  /** Whether a call without a result names a function that the caller of the run performs. */
  get #waitsForClient(): boolean {
    const { clientFunctions } = this.#settings.work;
    return openCalls(this.#log.items).some((call) => call.type === 'function_call' && clientFunctions.has(call.name));
  }

  #reportFailure(failure: ProviderFailure): AgentRunEnd {
    this.#log.emit({ ...failure, type: 'response_error' });
    return { type: 'done', status: 'failed' };
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

/**
 * The reason why the harness has not run the script, for example because another process has claimed the script.
 * Undefined if the script has run.
 */
function harnessRefusal(outcome: Outcome): ScriptFailure | undefined {
  return outcome.status === 'failed' && outcome.metadata.runtime === 'none' ? outcome.error : undefined;
}

function incomplete(reason: string): AgentRunEnd {
  return { type: 'done', status: 'incomplete', members: { incomplete_reason: reason } };
}

function waitingEnd(waiting: Waiting, inSubAgents: boolean): AgentRunEnd {
  const members = { ...waiting, ...(inSubAgents && { in_sub_agents: true }) };
  return { type: 'done', status: 'suspended', members };
}

/** The source of a script that the events show as not started. */
function unstartedScript(call: OpenCall): string | undefined {
  if (call.type === 'function_call') return scriptOfCall(call);
  return call.status === 'pending' ? call.source_code : undefined;
}
