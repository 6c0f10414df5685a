import { randomBytes } from 'node:crypto';
import type { ApprovalRequest, Decisions } from '@toolscript/core';
import { extendHistory, fileAnnouncement, userMessage } from '@toolscript/core/agent';
import {
  isFinalRunState,
  type OutputItem,
  type Run,
  type RunDraft,
  type ServiceStores,
  type StreamEvent,
  type Thread as StoredThread,
} from '@toolscript/core/protocol';
import {
  allRuns,
  compareInstructions,
  HeldRun,
  LEASE_MS,
  loadHistory,
  LOCAL_PRINCIPAL,
  type CurrentInstructions,
} from '@toolscript/server/runs';
import { visible } from '../terminal/untrusted.js';
import { busyError, claimInterrupted, closeInterrupted, refuseWhereHeld, type ClaimedRun } from './earlier-runs.js';
import { ownClaim } from './run-owner.js';
import { throughStore, type ThreadDatabase } from './thread-database.js';

const TITLE_LENGTH = 100;

export interface ThreadSettings {
  readonly database: ThreadDatabase;
  readonly workspace: string;
  readonly agent: CurrentInstructions;
  /** Whether the model reads a list of the conversation's stored files. */
  readonly announcesFiles: boolean;
  /** Called once if the conversation is no longer stored. */
  readonly onLost: (message: string) => void;
}

/** The ids of a run, and the number of its next event. Omitted members are generated. */
export interface RunNames {
  readonly runId?: string;
  readonly turnId?: string;
  readonly nextSeq?: number;
}

/** The way in which a script of the thread resumes. */
export type Continuation =
  /** The script resumes in the run that waits for it, or in a new run. `names` identifies this run. */
  | { readonly type: 'script'; readonly names: RunNames }
  /**
   * The whole run in which the script was interrupted is recovered. `history` is the conversation before this run.
   */
  | {
      readonly type: 'run';
      readonly events: readonly StreamEvent[];
      readonly history: readonly OutputItem[];
      /** True if no journal was lost: a script without a journal has then performed only reads. */
      readonly storeIsWhole: boolean;
    };

/**
 * A conversation, stored with the first prompt. The model's instructions stay as they were at the start of the
 * conversation. Later changes are announced once, before the next prompt.
 */
export class Thread {
  readonly id: string;
  readonly workspace: string;
  readonly #settings: ThreadSettings;
  readonly #stores: ServiceStores;
  #isKept: boolean;
  #isLost = false;
  #history: readonly OutputItem[] = [];
  #waitingScript: string | undefined;
  #system: string | undefined;
  #run: HeldRun | undefined;
  #events: StreamEvent[] = [];

  private constructor(id: string, isKept: boolean, settings: ThreadSettings) {
    this.id = id;
    this.#isKept = isKept;
    this.#settings = settings;
    this.#stores = settings.database.stores;
    this.workspace = settings.workspace;
    this.#system = settings.agent.system;
  }

  static begin(settings: ThreadSettings): Thread {
    return new Thread(`thr_${randomBytes(9).toString('base64url').replaceAll(/[-_]/gu, '0')}`, false, settings);
  }

  /** Opens a stored conversation. Throws a UsageError if another process works on it, or if the database fails. */
  static async reopen({ threadId }: StoredThread, settings: ThreadSettings): Promise<Thread> {
    const thread = new Thread(threadId, true, settings);
    await throughStore(thread.#load());
    return thread;
  }

  get history(): readonly OutputItem[] {
    return this.#history;
  }

  /** The script that the last run waits for; undefined after a later prompt. */
  get waitingScript(): string | undefined {
    return this.#waitingScript;
  }

  /** Whether the conversation can be continued later. */
  get isKept(): boolean {
    return this.#isKept;
  }

  /** The model's instructions, as they were at the start of the conversation. */
  get system(): string | undefined {
    return this.#system;
  }

  /** Aborts if the active run must stop; undefined if no run is active. */
  get signal(): AbortSignal | undefined {
    return this.#run?.signal;
  }

  /**
   * Starts a run with a prompt. Returns the input and the ids of the run. Throws a UsageError if the run cannot be
   * stored.
   */
  async beginTurn(text: string): Promise<RunNames & { readonly input: readonly OutputItem[] }> {
    if (this.#isLost) return { input: [userMessage(text)] };
    return throughStore(this.#begin(text));
  }

  /**
   * Starts to resume or recover a script. If the script's run is suspended or interrupted, this run continues.
   * Otherwise a new run starts.
   */
  async beginResume(scriptId: string, decisions: Decisions): Promise<Continuation> {
    if (this.#isLost) return { type: 'script', names: {} };
    return throughStore(this.#resume(scriptId, decisions));
  }

  take(event: StreamEvent): void {
    this.#events.push(event);
    this.#run?.take(event);
  }

  /** Resolves when the events taken so far are stored. */
  async flushEvents(): Promise<void> {
    await this.#run?.flushEvents();
  }

  /** Ends a run that has emitted all its events. `requests` are the pending approvals of the run. */
  async endRun(requests: readonly ApprovalRequest[] = []): Promise<void> {
    await this.#run?.end(new Map(requests.map((request) => [request.approvalId, request])));
    const stopped = this.#run?.stopped;
    this.#isLost ||= stopped === 'lost' || stopped === 'write-failed';
    this.#run = undefined;
    this.#history = extendHistory(this.#history, this.#events);
    const done = this.#events.at(-1)?.payload;
    this.#waitingScript = done?.type === 'response_done' && done.status === 'suspended' ? done.script_id : undefined;
    this.#events = [];
  }

  async #load(): Promise<void> {
    await refuseWhereHeld(this.#stores, this.id);
    const { system } = compareInstructions(await this.#stores.threads.instructions(this.id), this.#settings.agent);
    this.#system = system;
    this.#history = await loadHistory(this.#stores, this.id);
    const last = (await this.#runs()).at(-1);
    this.#waitingScript = last?.state === 'suspended' ? await this.#scriptOf(last) : undefined;
  }

  async #begin(text: string): Promise<RunNames & { readonly input: readonly OutputItem[] }> {
    const { threads } = this.#stores;
    if (this.#isKept) {
      await this.#closeInterrupted();
      await this.#trimLog();
      // Another process may have continued the conversation.
      this.#history = await loadHistory(this.#stores, this.id);
    }
    const { workspace, agent } = this.#settings;
    const { system, announcement, toSave } = compareInstructions(await threads.instructions(this.id), agent);
    this.#system = system;
    const files = this.#settings.announcesFiles && this.#isKept ? await this.#fileAnnouncement() : undefined;
    const input = [announcement, files, userMessage(text)].filter((item) => item !== undefined);
    const create = { threadId: this.id, title: text.slice(0, TITLE_LENGTH), workspace, agentId: agent.agentId };
    const run = await this.#create(input, this.#isKept ? { threadId: this.id } : { create });
    this.#isKept = true;
    const { runId, turnId, epoch } = run;
    if (toSave !== undefined) await threads.saveInstructions(this.id, toSave, { runId, epoch });
    this.#run = await this.#hold(run);
    return { runId, turnId, nextSeq: 0, input };
  }

  #fileAnnouncement(): Promise<OutputItem | undefined> {
    return fileAnnouncement(this.#stores.documents, this.id, this.#history);
  }

  async #resume(scriptId: string, decisions: Decisions): Promise<Continuation> {
    const interrupted = await this.#interrupted();
    if (interrupted !== undefined) {
      if (announces(interrupted.held.earlier, scriptId)) return this.#continueRun(interrupted);
      await closeInterrupted(interrupted.held);
    }
    this.#history = await loadHistory(this.#stores, this.id);
    const waiting = await this.#runWaitingWith(scriptId);
    const run = waiting === undefined ? await this.#createForScript(scriptId) : await this.#claim(waiting, decisions);
    this.#run = await this.#hold(run);
    const { runId, turnId } = run;
    return { type: 'script', names: { runId, turnId, nextSeq: this.#run.state.nextSeq } };
  }

  async #continueRun({ held, isOfThisBoot: storeIsWhole }: Interrupted): Promise<Continuation> {
    const { run, earlier: events } = held;
    const history = await loadHistory(this.#stores, this.id, run);
    this.#run = held;
    this.#history = history;
    this.#events = [...events];
    return { type: 'run', events, history, storeIsWhole };
  }

  /** Claims the run of a dead process. Returns undefined if there is none. */
  async #interrupted(): Promise<Interrupted | undefined> {
    const claimed = await claimInterrupted(this.#stores, this.id);
    return claimed === undefined ? undefined : { held: await this.#hold(claimed.run), ...claimed };
  }

  async #closeInterrupted(): Promise<void> {
    const interrupted = await this.#interrupted();
    if (interrupted !== undefined) await closeInterrupted(interrupted.held);
  }

  /** Deletes the live events of the last run if the run has ended: the thread store also contains these events. */
  async #trimLog(): Promise<void> {
    const last = (await this.#runs()).at(-1);
    if (last !== undefined && isFinalRunState(last.state)) await this.#settings.database.log.delete(last.runId);
  }

  async #hold(run: Run): Promise<HeldRun> {
    const { database, onLost } = this.#settings;
    const { stores, log } = database;
    const onFault = (error: unknown) =>
      onLost(
        `${visible(error instanceof Error ? error.message : String(error))} Later messages of this conversation are not stored.`,
      );
    const held = await HeldRun.open({ stores, log, run, leaseMs: LEASE_MS, worksUnwritten: true, onFault });
    held.signal.addEventListener('abort', () => {
      if (held.stopped === 'lost')
        onLost(
          'Another process has claimed or deleted this conversation. Toolscript stops the current run, and does not store its result. Use a conversation in only one process at a time.',
        );
    });
    return held;
  }

  async #claim(runId: string, decisions: Decisions): Promise<Run> {
    const claimed = await this.#stores.runs.claim({ ...ownClaim(), runId, evenSuspended: true });
    if (claimed === undefined) throw await busyError(this.#stores, this.id);
    for (const [approvalId, decision] of Object.entries(decisions))
      await this.#stores.threads.decide(approvalId, decision, LOCAL_PRINCIPAL);
    return claimed.run;
  }

  /** Creates a run for a script whose own run has ended. */
  #createForScript(scriptId: string): Promise<Run> {
    const resumed = { ...userMessage(`Resume ${scriptId}`), role: 'system' } as OutputItem;
    return this.#create([resumed], { threadId: this.id });
  }

  async #create(input: OutputItem[], thread: RunDraft['thread']): Promise<Run> {
    const { agentId, model } = this.#settings.agent;
    const draft = { principal: LOCAL_PRINCIPAL, thread, input, options: { agentId, model }, claim: ownClaim() };
    try {
      return (await this.#stores.runs.create(draft)).run;
    } catch (error) {
      if (!(error instanceof Error) || error.name !== 'ThreadBusyError') throw error;
      throw await busyError(this.#stores, this.id);
    }
  }

  async #runWaitingWith(scriptId: string): Promise<string | undefined> {
    for (const run of (await this.#runs()).toReversed())
      if (run.state === 'suspended' && (await this.#scriptOf(run)) === scriptId) return run.runId;
    return undefined;
  }

  /** The script that a suspended run waits for. */
  async #scriptOf({ runId }: Run): Promise<string | undefined> {
    const { approvals } = await this.#stores.threads.listApprovals({ runId, state: 'pending', limit: 1 });
    return approvals[0]?.request.scriptId;
  }

  #runs(): Promise<Run[]> {
    return allRuns(this.#stores, this.id);
  }
}

interface Interrupted extends ClaimedRun {
  readonly held: HeldRun;
}

/** Whether these events contain the start of the script. */
function announces(events: readonly StreamEvent[], scriptId: string): boolean {
  return extendHistory([], events).some((item) => item.type === 'script_execution' && item.script_id === scriptId);
}
