import { resumeAgent, runAgent, type AgentConfig } from '@toolscript/core/agent';
import type { Decisions } from '@toolscript/core';
import type { LoadImage } from '@toolscript/core/history';
import {
  EventQueue,
  type ApprovalRequest,
  type ModelProvider,
  type Outcome,
  type StreamEvent,
  type Usage,
} from '@toolscript/core/protocol';
import { EXIT } from '../exit-status.js';
import type { CliHarness } from '../harness/cli-harness.js';
import type { Screen } from '../terminal/screen.js';
import { visibleLine } from '../terminal/untrusted.js';
import type { RunNames, Thread } from '../threads/thread.js';
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
  /** Nothing but events goes to stdout. */
  readonly isJson: boolean;
}

type Done = Extract<StreamEvent['payload'], { type: 'response_done' }>;

/** What happened in a run that decides how it is reported. */
class RunNotes {
  readonly startedMs = performance.now();
  readonly #answers = new Set<unknown>();
  usage: Usage | undefined;
  done: Done | undefined;
  error: { code: string; message: string } | undefined;
  /** Of the last script: a failure that the model has repaired does not count. */
  hasFailed = false;

  take({ payload }: StreamEvent): void {
    switch (payload.type) {
      case 'item_done':
        if (payload.final_item.answer_id !== undefined) this.#answers.add(payload.final_item.answer_id);
        if (payload.final_item.type === 'script_execution_output' && payload.final_item.stands_in !== true)
          this.hasFailed = payload.final_item.status === 'failed';
        return;
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
    return this.#answers.size;
  }

  get status(): number {
    const { status } = this.done ?? { status: 'completed' };
    if (status === 'suspended') return this.hasFailed ? EXIT.failed : EXIT.suspended;
    return status === 'completed' && !this.hasFailed ? EXIT.completed : EXIT.failed;
  }
}

/** A conversation with a model: prompts, its runs, and what a person sees of them. */
export class ChatSession {
  readonly #settings: ChatSettings;

  constructor(settings: ChatSettings) {
    this.#settings = settings;
  }

  get thread(): Thread {
    return this.#settings.thread;
  }

  /** Answers with the exit status that fits how it went. */
  async say(prompt: string, signal: AbortSignal): Promise<number> {
    const { input, ...names } = await this.thread.beginTurn(prompt);
    return this.#play(runAgent({ ...this.#common(signal, names), input }));
  }

  /** Resumes a script that waits for the user: its run continues. */
  async goOn(scriptId: string, decisions: Decisions, signal: AbortSignal): Promise<number> {
    const names = await this.thread.beginResume(scriptId, decisions);
    return this.#play(resumeAgent({ ...this.#common(signal, names), suspension: scriptId, decisions }));
  }

  /** Goes on with a script that was cut off. Its outcome is in the conversation when the next prompt comes. */
  async recover(scriptId: string, signal: AbortSignal, force = false): Promise<number> {
    await this.thread.beginResume(scriptId, {});
    const queue = new EventQueue<StreamEvent>();
    const { harness } = this.#settings.workbench;
    const recovering = harness.recover(scriptId, {
      signal: this.#either(signal),
      force,
      onEvent: (event) => queue.push(event),
    });
    // What goes wrong is told behind the events.
    recovering.catch(() => {}).finally(() => queue.end());
    return this.#play(recovered(queue, recovering));
  }

  #common(signal: AbortSignal, names: RunNames) {
    const { provider, agent, workbench, thread, loadImage } = this.#settings;
    return {
      provider,
      agent,
      harness: workbench.harness,
      threadId: thread.id,
      ...names,
      history: thread.history,
      context: { workingDirectory: thread.workspace },
      scriptSourceDeltas: true,
      loadImage,
      signal: this.#either(signal),
      ...(thread.system === undefined ? {} : { system: thread.system }),
    };
  }

  /** The user's interruption, or the loss of the run. */
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
    this.#report(notes);
    return notes.status;
  }

  /** What the run waits for, in full. */
  async #requestsOf({ done }: RunNotes): Promise<readonly ApprovalRequest[]> {
    if (done?.status !== 'suspended' || done.script_id === undefined) return [];
    const { harness } = this.#settings.workbench;
    return (await harness.inspect(done.script_id))?.pendingApprovals ?? [];
  }

  #report(notes: RunNotes): void {
    const { screen, agent, isJson } = this.#settings;
    const { error, done, answers, usage, startedMs } = notes;
    if (error !== undefined) screen.warn(`toolscript: ${visibleLine(error.code)}: ${visibleLine(error.message)}`);
    if (isJson) return;
    const end = done === undefined ? undefined : endLine(done, screen.style);
    if (end !== undefined) screen.line(end);
    screen.line(figuresLine({ answers, usage, durationMs: performance.now() - startedMs }, agent, screen.style));
  }
}

/** The events of a script that was recovered, with an end as a run has it. */
async function* recovered(events: AsyncIterable<StreamEvent>, end: Promise<Outcome>): AsyncGenerator<StreamEvent> {
  let last: StreamEvent | undefined;
  for await (const event of events) yield (last = event);
  const outcome = await end;
  const next = (payload: StreamEvent['payload']): StreamEvent => {
    const seq = last === undefined ? 0 : last.seq + 1;
    const names = last ?? { run_id: outcome.scriptId, thread_id: '', turn_id: '' };
    const { run_id, thread_id, turn_id } = names;
    last = { event_id: `${run_id}_${seq}`, run_id, thread_id, turn_id, seq, timestamp: Date.now(), payload };
    return last;
  };
  if (outcome.status === 'failed' && outcome.metadata.runtime === 'none')
    yield next({ type: 'response_error', code: outcome.error.code, message: outcome.error.message });
  if (outcome.status === 'suspended')
    yield next({
      type: 'response_done',
      status: 'suspended',
      script_id: outcome.scriptId,
      approval_ids: outcome.pendingApprovals.map(({ approvalId }) => approvalId),
    });
  else yield next({ type: 'response_done', status: outcome.status });
}
