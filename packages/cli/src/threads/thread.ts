import { randomBytes } from 'node:crypto';
import type { ApprovalRequest, Decisions } from '@toolscript/core';
import { extendHistory, userMessage } from '@toolscript/core/agent';
import type {
  OutputItem,
  Run,
  RunDraft,
  ServiceStores,
  StreamEvent,
  Thread as StoredThread,
  ThreadInstructions,
} from '@toolscript/core/protocol';
import { allRuns, loadHistory } from './history.js';
import { busyError, closeEarlierRuns, refuseWhereHeld } from './earlier-runs.js';
import { allEvents, doneOf } from './run-end.js';
import { ownClaim, PRINCIPAL } from './run-owner.js';
import { throughStore, type ThreadDatabase } from './thread-database.js';
import { ThreadRun } from './thread-run.js';

const TITLE_LENGTH = 100;

/** Whom a thread talks to. */
export interface ThreadAgent {
  readonly agent: string;
  readonly model: string;
  /** As the tools and the agent are now. */
  readonly system: string | undefined;
}

export interface ThreadSettings {
  readonly database: ThreadDatabase;
  readonly workspace: string;
  readonly agent: ThreadAgent;
  /** Reports, once, that the conversation is not kept any more. */
  readonly onLost: (message: string) => void;
}

/** The names and the place of a run's next event. Empty: they are made up. */
export interface RunNames {
  readonly runId?: string;
  readonly turnId?: string;
  readonly nextSeq?: number;
}

/**
 * A conversation, stored with the first prompt. What a model is told at the beginning stays as it was then; what has
 * changed since is announced once, before the next prompt.
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
  #run: ThreadRun | undefined;
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

  /** Throws a UsageError where another process works on it, or the database fails. */
  static async reopen({ threadId }: StoredThread, settings: ThreadSettings): Promise<Thread> {
    const thread = new Thread(threadId, true, settings);
    await throughStore(thread.#load());
    return thread;
  }

  get history(): readonly OutputItem[] {
    return this.#history;
  }

  /** The script that the last run waits with; undefined once something else was said. */
  get waitingScript(): string | undefined {
    return this.#waitingScript;
  }

  /** Whether it can be continued later. */
  get isKept(): boolean {
    return this.#isKept;
  }

  /** The model is told the same as at the beginning. */
  get system(): string | undefined {
    return this.#system;
  }

  /** Aborts where the run that was begun must stop. */
  get signal(): AbortSignal | undefined {
    return this.#run?.signal;
  }

  /** Begins a run with a prompt, and gives what it is given. Throws a UsageError where it cannot be kept. */
  async beginTurn(text: string): Promise<RunNames & { readonly input: readonly OutputItem[] }> {
    if (this.#isLost) return { input: [userMessage(text)] };
    return throughStore(this.#begin(text));
  }

  /**
   * Begins to resume a script. The run that waits with it continues; a run of its own begins where there is none, as
   * for one whose run was interrupted.
   */
  async beginResume(scriptId: string, decisions: Decisions): Promise<RunNames> {
    if (this.#isLost) return {};
    return throughStore(this.#resume(scriptId, decisions));
  }

  take(event: StreamEvent): void {
    this.#events.push(event);
    this.#run?.take(event);
  }

  /** The run has emitted all its events. `requests`: what it waits for. */
  async endRun(requests: readonly ApprovalRequest[] = []): Promise<void> {
    await this.#run?.end(requests);
    this.#isLost ||= this.#run?.isLost === true;
    this.#run = undefined;
    this.#history = extendHistory(this.#history, this.#events);
    const done = doneOf(this.#events);
    this.#waitingScript = done?.status === 'suspended' ? done.script_id : undefined;
    this.#events = [];
  }

  async #load(): Promise<void> {
    await refuseWhereHeld(this.#stores, this.id);
    const { system } = this.#compared(await this.#stores.threads.instructions(this.id));
    this.#system = system;
    this.#history = await loadHistory(this.#stores, this.id);
    const last = (await this.#runs()).at(-1);
    this.#waitingScript = last?.state === 'suspended' ? await this.#scriptOf(last) : undefined;
  }

  async #begin(text: string): Promise<RunNames & { readonly input: readonly OutputItem[] }> {
    const { threads } = this.#stores;
    if (this.#isKept) {
      await closeEarlierRuns(this.#stores, this.id);
      // Another process may have continued it.
      this.#history = await loadHistory(this.#stores, this.id);
    }
    const { system, news, instructions } = this.#compared(await threads.instructions(this.id));
    this.#system = system;
    const input = [...(news === undefined ? [] : [announcement(news)]), userMessage(text)];
    const { workspace, agent } = this.#settings;
    const create = { threadId: this.id, title: text.slice(0, TITLE_LENGTH), workspace, agentId: agent.agent };
    const run = await this.#create(input, this.#isKept ? { threadId: this.id } : { create });
    this.#isKept = true;
    const { runId, epoch } = run;
    if (instructions !== undefined) await threads.saveInstructions(this.id, instructions, { runId, epoch });
    return { ...this.#hold(run), input };
  }

  async #resume(scriptId: string, decisions: Decisions): Promise<RunNames> {
    await closeEarlierRuns(this.#stores, this.id);
    this.#history = await loadHistory(this.#stores, this.id);
    const waiting = await this.#runWaitingWith(scriptId);
    if (waiting === undefined) {
      const resumed = { ...userMessage(`Resume ${scriptId}`), role: 'system' } as OutputItem;
      return this.#hold(await this.#create([resumed], { threadId: this.id }), { hasNoPrompt: true });
    }
    const claimed = await this.#stores.runs.claim({ ...ownClaim(), runId: waiting, evenSuspended: true });
    if (claimed === undefined) throw await busyError(this.#stores, this.id);
    for (const [approvalId, decision] of Object.entries(decisions))
      await this.#stores.threads.decide(approvalId, decision, PRINCIPAL);
    const { length: nextSeq } = await allEvents(this.#stores, waiting);
    return this.#hold(claimed.run, { nextSeq });
  }

  #hold(run: Run, { nextSeq = 0, hasNoPrompt = false } = {}): Required<RunNames> {
    const { onLost } = this.#settings;
    this.#run = new ThreadRun({ stores: this.#stores, run, nextSeq, hasNoPrompt, onLost });
    return { runId: run.runId, turnId: run.turnId, nextSeq };
  }

  async #create(input: OutputItem[], thread: RunDraft['thread']): Promise<Run> {
    const { agent, model } = this.#settings.agent;
    const draft = { principal: PRINCIPAL, thread, input, options: { agentId: agent, model }, claim: ownClaim() };
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

  /** The script that a suspended run waits with. */
  async #scriptOf({ runId }: Run): Promise<string | undefined> {
    const { approvals } = await this.#stores.threads.listApprovals({ runId, state: 'pending', limit: 1 });
    return approvals[0]?.request.scriptId;
  }

  #runs(): Promise<Run[]> {
    return allRuns(this.#stores, this.id);
  }

  /** What the model is told, what of it is new to it, and what to save of that. */
  #compared(before: ThreadInstructions | undefined) {
    const { agent, model, system: current } = this.#settings.agent;
    const isSame = before !== undefined && before.agentId === agent;
    const told = before?.announced ?? before?.system;
    const news = isSame && told !== current ? current : undefined;
    const system = isSame ? before.system : current;
    const isSaved = isSame && before.model === model && news === undefined;
    const instructions: ThreadInstructions = {
      agentId: agent,
      model,
      ...(system === undefined ? {} : { system }),
      ...(current === system || current === undefined ? {} : { announced: current }),
    };
    return { system, news, instructions: isSaved ? undefined : instructions };
  }
}

function announcement(system: string): OutputItem {
  const content = `Since this conversation began, the tools or the instructions have changed. These hold from here on:\n\n${system}`;
  return { ...userMessage(content), role: 'system' } as OutputItem;
}
