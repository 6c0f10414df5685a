import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Decisions } from '@toolscript/core';
import { extendHistory, userMessage } from '@toolscript/core/agent';
import { isFinalRunState } from '@toolscript/core/internal';
import { subAgentEvent } from '@toolscript/core/stream';
import { StoreUnavailableError, type ClaimedRun } from '@toolscript/core/ports';
import type {
  Approval,
  EventLog,
  MessageItem,
  OutputItem,
  Run,
  RunDraft,
  ServiceStores,
  StreamEvent,
} from '@toolscript/core/protocol';
import { agentNeed, type OpenedAgent } from '../agents/index.js';
import { LOCAL_PRINCIPAL } from '../principals.js';
import { memoryEventLog } from '../stores/memory/memory-event-log.js';
import { memoryStores } from '../stores/memory/memory-stores.js';
import { executeRun, type ScriptCommand } from './execute-run.js';
import { HeldRun, isLoss } from './held-run.js';
import { allRuns, loadHistory } from './run-history.js';
import type { RunOptions } from './run-options.js';
import { LEASE_MS, liveHolder, ownClaim } from './run-owner.js';
import { abilityToClaim, claimInterruptedRun, heldError, refuseHeldThread } from './thread-claims.js';
import { inputTitle } from './thread-title.js';

/** The interval between looks at a run on which another process works, in ms. */
const LOOK_MS = 100;

export interface ThreadRunsSettings {
  readonly stores: ServiceStores;
  readonly log: EventLog;
  readonly workspace: string;
  /** The agent of the runs. */
  readonly opened: OpenedAgent;
  /** Called with the reason if the thread is no longer stored. */
  readonly onLost: (reason: string) => void;
}

/** The caller's side of one run. */
export interface RunWatch {
  /** Cancels the run. */
  readonly signal: AbortSignal;
  readonly onEvent: (event: StreamEvent) => void;
}

interface Work extends Pick<ClaimedRun, 'run' | 'turn' | 'approvals'> {
  readonly script?: ScriptCommand | undefined;
  /** The whole conversation, if prompts came after the run that waits for the script. */
  readonly history?: readonly OutputItem[] | undefined;
}

/**
 * One thread of this machine's user. This process claims the runs of the thread as it creates them, without a queue,
 * and executes them one at a time. The thread is stored with the first prompt. If it is lost, because its store fails
 * or another process takes it, the conversation continues in memory.
 */
export class ThreadRuns {
  readonly id: string;
  readonly workspace: string;
  readonly #settings: ThreadRunsSettings;
  #stores: ServiceStores;
  #log: EventLog;
  #isStored: boolean;
  #isLost = false;
  #history: readonly OutputItem[] = [];
  #waitingScript: string | undefined;
  /** The run that works now. */
  #held: HeldRun | undefined;
  readonly #runningCalls = new Set<string>();
  #isHandingOver = false;
  #handedOver: string | undefined;

  private constructor(id: string, isStored: boolean, settings: ThreadRunsSettings) {
    this.id = id;
    this.workspace = settings.workspace;
    this.#settings = settings;
    this.#stores = settings.stores;
    this.#log = settings.log;
    this.#isStored = isStored;
  }

  static begin(settings: ThreadRunsSettings): ThreadRuns {
    const id = `thr_${randomBytes(9).toString('base64url').replaceAll(/[-_]/gu, '0')}`;
    return new ThreadRuns(id, false, settings);
  }

  /** Opens a stored thread. Rejects with a `ThreadHeldError` if another process works on it. */
  static async reopen(threadId: string, settings: ThreadRunsSettings): Promise<ThreadRuns> {
    const thread = new ThreadRuns(threadId, true, settings);
    const { stores } = settings;
    await refuseHeldThread(stores, threadId);
    thread.#history = await loadHistory(stores, threadId);
    const last = (await allRuns(stores, threadId)).at(-1);
    thread.#waitingScript = last?.state === 'suspended' ? await thread.#pendingScriptId(last) : undefined;
    return thread;
  }

  /** The conversation so far. */
  get history(): readonly OutputItem[] {
    return this.#history;
  }

  /** The script that the last run waits for; undefined after a later prompt. */
  get waitingScript(): string | undefined {
    return this.#waitingScript;
  }

  /** Whether the conversation can be continued later. */
  get isKept(): boolean {
    return this.#isStored || this.#isLost;
  }

  /** The id of the run that works now. */
  get workingRun(): string | undefined {
    return this.#held?.run.runId;
  }

  /** The id of the last run if it was handed over. */
  get handedOver(): string | undefined {
    return this.#handedOver;
  }

  /**
   * Returns the run that works now to the queue as soon as none of its calls runs. Another process then continues it
   * with `takeOver`, from the stored events. Returns false if the run waits for its calls.
   */
  handOver(): boolean {
    this.#isHandingOver = true;
    const isQuiet = this.#runningCalls.size === 0;
    if (isQuiet) this.#held?.stop('draining');
    return isQuiet;
  }

  /** Resolves when no other process works on the run. */
  static async untilFree({ runs }: Pick<ServiceStores, 'runs'>, runId: string): Promise<void> {
    for (let run = await runs.get(runId); run?.state === 'running'; run = await runs.get(runId)) {
      if (liveHolder(run) === undefined) return;
      await delay(LOOK_MS);
    }
  }

  /** Continues the run that another process has handed over or left unfinished. Does nothing if there is none. */
  async takeOver(watch: RunWatch): Promise<void> {
    const left = await claimInterruptedRun(this.#stores, this.id, this.#settings.opened.harness.capability);
    if (left !== undefined) await this.#execute(left, watch);
  }

  /** Executes a run with a prompt, and with what is attached to it. Rejects with a `ThreadHeldError` if another process works on the thread. */
  async say(text: string, watch: RunWatch, attached: Pick<MessageItem, 'images' | 'files'> = {}): Promise<void> {
    await this.#closeEarlier();
    await this.#execute(await this.#create([{ ...userMessage(text), ...attached } as OutputItem]), watch);
  }

  /** Executes a run in which the model summarises the conversation for itself. Rejects as `say` does. */
  async compact(watch: RunWatch): Promise<void> {
    await this.#closeEarlier();
    const note = systemNote('The user asked for a summary of the conversation.');
    await this.#execute(await this.#create([note], { compacts: true }), watch);
  }

  /**
   * Resumes or recovers a script. If the script's run is suspended or interrupted, this run continues. Otherwise, a new
   * run starts with the script.
   */
  async resume(script: ScriptCommand, watch: RunWatch): Promise<void> {
    if (this.#isLost) return this.#execute({ ...(await this.#createForScript(script.scriptId)), script }, watch);
    const { capability } = this.#settings.opened.harness;
    const interrupted = await claimInterruptedRun(this.#stores, this.id, capability);
    if (interrupted !== undefined) {
      const held = await this.#hold(interrupted.run);
      if (announces(held.earlier, script.scriptId)) {
        held.close();
        const approvals = await this.#storeDecisions(
          interrupted.approvals,
          held.state.done?.approval_ids,
          script.decisions,
        );
        return this.#execute({ ...interrupted, approvals, script }, watch);
      }
      await close(held);
    }
    const waiting = await this.#claimWaiting(script);
    await this.#execute(waiting ?? { ...(await this.#createForScript(script.scriptId)), script }, watch);
  }

  async #execute({ script, history: later, ...claimed }: Work, { signal, onEvent }: RunWatch): Promise<void> {
    const events: StreamEvent[] = [];
    const held = await this.#hold(claimed.run, (event) => {
      events.push(event);
      onEvent(event);
      this.#noteCall(event);
    });
    this.#held = held;
    this.#isHandingOver = false;
    this.#runningCalls.clear();
    // A run that has ended or suspended itself is no longer cancelled.
    const cancel = () => held.state.done === undefined && held.stop('cancelled');
    signal.addEventListener('abort', cancel, { once: true });
    if (signal.aborted) held.stop('cancelled');
    const { agent, harness } = this.#settings.opened;
    const served = { config: agent, capability: harness.capability, open: async () => this.#settings.opened };
    const agents = { list: async () => [served], find: async () => served };
    const history = this.#isLost ? this.#history : later;
    const fault = await executeRun(held, claimed, { stores: this.#stores, agents, script, history });
    signal.removeEventListener('abort', cancel);
    this.#held = undefined;
    this.#handedOver = held.stopReason === 'draining' ? held.run.runId : undefined;
    const { done } = held.state;
    this.#waitingScript = done?.status === 'suspended' ? done.script_id : undefined;
    await this.#settle(held, events, fault);
    if (fault !== undefined && !isLoss(fault)) throw fault;
  }

  /** A call is over before its run is handed over: nobody could tell its outcome otherwise. */
  #noteCall(event: StreamEvent): void {
    const { payload } = event;
    const nested = subAgentEvent(event);
    if (nested !== undefined) return this.#noteCall(nested);
    if (payload.type === 'tool_call_start') this.#runningCalls.add(payload.call_id);
    if (payload.type !== 'tool_call_done') return;
    this.#runningCalls.delete(payload.call_id);
    // The run first stores the end of the call.
    if (this.#isHandingOver) queueMicrotask(() => this.handOver());
  }

  /** Updates the history, and leaves the stores of a lost thread. */
  async #settle(held: HeldRun, events: readonly StreamEvent[], fault: unknown): Promise<void> {
    const { runId, epoch } = held.run;
    // The script still waits, so that another command, or a server, can continue the run.
    if (fault instanceof StoreUnavailableError) return this.#stores.runs.release({ runId, epoch }).catch(() => {});
    const { stopReason } = held;
    const isLost = stopReason === 'lost' || stopReason === 'write-failed';
    if (!isLost && !this.#isLost) {
      this.#history = await loadHistory(this.#stores, this.id);
      return;
    }
    this.#history = extendHistory(this.#history, [...held.earlier, ...events]);
    if (stopReason === 'lost')
      this.#settings.onLost(
        'Another process has claimed or deleted this conversation. Toolscript stops the current run, and does not store its result. Use a conversation in only one process at a time.',
      );
    if (!isLost) return;
    this.#isLost = true;
    this.#isStored = false;
    this.#stores = memoryStores();
    this.#log = memoryEventLog();
  }

  #hold(run: Run, onEvent: (event: StreamEvent) => void = () => {}): Promise<HeldRun> {
    const onWriteFailed = (error: unknown) =>
      this.#settings.onLost(
        `${error instanceof Error ? error.message : String(error)} Later messages of this conversation are not stored.`,
      );
    const observe = () => ({ agentOpened() {}, event: onEvent, eventsWritten() {}, workEnded() {} });
    const places = { stores: this.#stores, log: this.#log };
    return HeldRun.open({ ...places, run, leaseMs: LEASE_MS, onWriteFailed, observe });
  }

  /** Closes what an earlier process has left of the thread's last run. */
  async #closeEarlier(): Promise<void> {
    if (!this.#isStored || this.#isLost) return;
    await this.#closeInterrupted();
    await this.#trimLog();
  }

  async #closeInterrupted(): Promise<void> {
    const interrupted = await claimInterruptedRun(this.#stores, this.id);
    if (interrupted !== undefined) await close(await this.#hold(interrupted.run));
  }

  /** Deletes the live events of the last run if the run has ended: the thread store also contains these events. */
  async #trimLog(): Promise<void> {
    const last = (await allRuns(this.#stores, this.id)).at(-1);
    if (last !== undefined && isFinalRunState(last.state)) await this.#log.delete(last.runId, last.epoch);
  }

  /** Claims the suspended run that waits for the script, and decides its approvals. */
  async #claimWaiting(script: ScriptCommand): Promise<Work | undefined> {
    const runs = await allRuns(this.#stores, this.id);
    for (const run of runs.toReversed()) {
      if (run.state !== 'suspended' || (await this.#pendingScriptId(run)) !== script.scriptId) continue;
      const claim = abilityToClaim(run, this.#settings.opened.harness.capability);
      const claimed = await this.#stores.runs.claim({ ...claim, evenSuspended: true });
      if (claimed === undefined) throw await heldError(this.#stores, this.id);
      const approvals = await this.#storeDecisions(claimed.approvals, Object.keys(script.decisions), script.decisions);
      const history = run === runs.at(-1) ? undefined : await loadHistory(this.#stores, this.id);
      return { ...claimed, approvals, script, history };
    }
    return undefined;
  }

  /** Stores the user's decisions. Returns the approvals as they are decided now, possibly by another user. */
  async #storeDecisions(
    approvals: readonly Approval[],
    pending: readonly string[] = [],
    decisions: Decisions,
  ): Promise<readonly Approval[]> {
    const decided = new Map(approvals.map((approval) => [approval.approvalId, approval]));
    for (const approvalId of pending) {
      const decision = decisions[approvalId];
      if (decision === undefined) continue;
      const result = await this.#stores.threads.decide(approvalId, decision, LOCAL_PRINCIPAL);
      if (result !== undefined) decided.set(approvalId, result.approval);
    }
    return [...decided.values()];
  }

  /** Creates a run for a script whose own run has ended. */
  #createForScript(scriptId: string): Promise<Work> {
    return this.#create([systemNote(`Resume ${scriptId}`)]);
  }

  async #create(input: OutputItem[], more: Pick<RunOptions, 'compacts'> = {}): Promise<Work> {
    const { agent, provider, harness, model = provider.model } = this.#settings.opened;
    const { slug: agentId } = agent;
    const create = { threadId: this.id, title: inputTitle(input), workspace: this.workspace, agentId };
    const thread: RunDraft['thread'] = this.#isStored ? { threadId: this.id } : { create };
    const needs = [agentNeed(agentId), ...harness.capability.needs];
    const draft = {
      principal: LOCAL_PRINCIPAL,
      thread,
      input,
      options: { agentId, model, ...more },
      needs,
      claim: ownClaim(),
    };
    try {
      const { run, turn } = await this.#stores.runs.create(draft);
      this.#isStored = true;
      return { run, turn, approvals: [] };
    } catch (error) {
      if (!(error instanceof Error) || error.name !== 'ThreadBusyError') throw error;
      throw await heldError(this.#stores, this.id);
    }
  }

  /** The script that a suspended run waits for. */
  async #pendingScriptId({ runId }: Run): Promise<string | undefined> {
    const { approvals } = await this.#stores.threads.listApprovals({ runId, state: 'pending', limit: 1 });
    return approvals[0]?.request.scriptId;
  }
}

function systemNote(content: string): OutputItem {
  return { ...userMessage(content), role: 'system' } as OutputItem;
}

/** Ends an interrupted run and cancels its open items. */
async function close(held: HeldRun): Promise<void> {
  for (const payload of held.state.missingEnd('incomplete')) held.emit(payload);
  await held.end();
}

/** Whether these events contain the start of the script. */
function announces(events: readonly StreamEvent[], scriptId: string): boolean {
  return extendHistory([], events).some((item) => item.type === 'script_execution' && item.script_id === scriptId);
}
