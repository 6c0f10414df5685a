import { FinalText, recoverRun, resumeAgent, runAgent, type AgentConfig, type SubAgents } from '@toolscript/core/agent';
import type { Decisions } from '@toolscript/core';
import type { LoadImage } from '@toolscript/core/history';
import type { ApprovalRequest, ModelProvider, OutputItem, StreamEvent, Usage } from '@toolscript/core/protocol';
import { EXIT } from '../exit-status.js';
import type { CliHarness } from '../harness/cli-harness.js';
import type { Screen } from '../terminal/screen.js';
import { visibleLine } from '../terminal/untrusted.js';
import type { Thread } from '../threads/thread.js';
import type { EventView } from '../view/answer-view.js';
import { endLine, figuresLine } from '../view/run-report.js';

export interface ChatSettings {
  readonly provider: ModelProvider;
  readonly agent: AgentConfig;
  readonly workbench: CliHarness;
  readonly thread: Thread;
  readonly screen: Screen;
  readonly view: EventView;
  readonly loadImage: LoadImage;
  /** True if stdout carries only data, without a summary. */
  readonly isQuiet: boolean;
  /** Undefined: the agent has no sub-agents. */
  readonly subAgents: SubAgents | undefined;
}

export interface ContinueOptions {
  readonly signal: AbortSignal;
  /** True if an earlier process ended while it ran the script. Default: false; the script then waits for decisions. */
  readonly isInterrupted?: boolean;
  /** Claims the script even if another process may still run it. */
  readonly force?: boolean;
}

type Done = Extract<StreamEvent['payload'], { type: 'response_done' }>;

/** The events of a run that decide how it is reported. */
class RunNotes {
  readonly startedMs = performance.now();
  readonly #final = new FinalText();
  usage: Usage | undefined;
  done: Done | undefined;
  error: { code: string; message: string } | undefined;
  /** True if the last script failed. A failure that the model has repaired does not count. */
  hasFailed = false;

  take({ payload }: StreamEvent): void {
    switch (payload.type) {
      case 'item_done':
        return this.#takeItem(payload.final_item);
      case 'usage_update':
        this.usage = payload.usage;
        return;
      case 'response_error':
        this.error = { code: payload.code, message: payload.message };
        return;
      case 'response_done':
        this.done = payload;
        this.usage = payload.usage ?? this.usage;
        return;
      default:
        return;
    }
  }

  get answers(): number {
    return this.#final.answers;
  }

  /** The text of the last answer; undefined if the run has not completed. */
  get finalAnswer(): string | undefined {
    return this.done?.status === 'completed' ? this.#final.text : undefined;
  }

  get status(): number {
    const { status } = this.done ?? { status: 'completed' };
    if (status === 'suspended') return this.hasFailed ? EXIT.failed : EXIT.suspended;
    return status === 'completed' && !this.hasFailed ? EXIT.completed : EXIT.failed;
  }

  #takeItem(item: OutputItem): void {
    this.#final.take(item);
    if (item.type === 'script_execution_output' && item.stands_in !== true) this.hasFailed = item.status === 'failed';
  }
}

/** A conversation with a model: sends prompts, resumes scripts, and shows the output of each run to the user. */
export class ChatSession {
  readonly #settings: ChatSettings;
  #finalAnswer: string | undefined;

  constructor(settings: ChatSettings) {
    this.#settings = settings;
  }

  get thread(): Thread {
    return this.#settings.thread;
  }

  /** The final answer of the last run; undefined if it has none. */
  get finalAnswer(): string | undefined {
    return this.#finalAnswer;
  }

  /** Sends a prompt to the model. Returns the exit status. */
  async say(prompt: string, signal: AbortSignal): Promise<number> {
    const { input, ...names } = await this.thread.beginTurn(prompt);
    return this.#play(runAgent({ ...this.#common(signal), ...names, history: this.thread.history, input }));
  }

  /** Resumes a script that waits for the user, or recovers an interrupted script. The script's run then continues. */
  async resume(scriptId: string, decisions: Decisions, how: ContinueOptions): Promise<number> {
    const { signal, isInterrupted = false, force = false } = how;
    const continuation = await this.thread.beginResume(scriptId, decisions);
    const common = this.#common(signal);
    if (continuation.type === 'run') {
      const { events, history, storeIsWhole } = continuation;
      // An earlier process suspended the script, and ended before the run was suspended.
      if (!isInterrupted) await this.#settings.workbench.harness.decide(scriptId, decisions);
      return this.#play(recoverRun({ ...common, events, history, force, storeIsWhole }));
    }
    const { names } = continuation;
    const script = { suspension: scriptId, decisions, ...(isInterrupted ? { recover: { force } } : {}) };
    return this.#play(resumeAgent({ ...common, ...names, history: this.thread.history, ...script }));
  }

  #common(signal: AbortSignal) {
    const { provider, agent, workbench, thread, loadImage, subAgents } = this.#settings;
    return {
      provider,
      agent,
      harness: workbench.harness,
      threadId: thread.id,
      context: { workingDirectory: thread.workspace },
      scriptSourceDeltas: true,
      loadImage,
      ...(subAgents === undefined ? {} : { subAgents }),
      signal: this.#either(signal),
      flushEvents: () => thread.flushEvents(),
      ...(thread.system === undefined ? {} : { system: thread.system }),
    };
  }

  /** Aborts when the user interrupts the run, or when this process loses the run. */
  #either(signal: AbortSignal): AbortSignal {
    const { signal: lost } = this.thread;
    return lost === undefined ? signal : AbortSignal.any([signal, lost]);
  }

  async #play(events: AsyncIterable<StreamEvent>): Promise<number> {
    const { thread, view, workbench } = this.#settings;
    const notes = new RunNotes();
    try {
      for await (const event of events) {
        thread.take(event);
        notes.take(event);
        workbench.approvals.take(event);
        view.take(event);
      }
    } finally {
      await thread.endRun(await this.#requestsOf(notes));
      view.end();
    }
    this.#finalAnswer = notes.finalAnswer;
    this.#report(notes);
    return notes.status;
  }

  /** The pending approvals of the run, in full. */
  async #requestsOf({ done }: RunNotes): Promise<readonly ApprovalRequest[]> {
    if (done?.status !== 'suspended' || done.script_id === undefined) return [];
    const { harness } = this.#settings.workbench;
    return (await harness.inspect(done.script_id))?.pendingApprovals ?? [];
  }

  #report(notes: RunNotes): void {
    const { screen, agent, isQuiet } = this.#settings;
    const { error, done, answers, usage, startedMs } = notes;
    if (error !== undefined) screen.notice(`${visibleLine(error.code)}: ${visibleLine(error.message)}`);
    if (isQuiet) return;
    const end = done === undefined ? undefined : endLine(done, screen.style);
    if (end !== undefined) screen.line(end);
    screen.line(figuresLine({ answers, usage, durationMs: performance.now() - startedMs }, agent, screen.style));
  }
}
