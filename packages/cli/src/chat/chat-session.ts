import { FinalText, type AgentConfig } from '@toolscript/core/agent';
import type { OutputItem, StreamEvent, Usage } from '@toolscript/core/protocol';
import type { RunWatch, ScriptCommand, ThreadRuns } from '@toolscript/service';
import { EXIT } from '../exit-status.js';
import type { CliHarness } from '../harness/cli-harness.js';
import type { Screen } from '../terminal/screen.js';
import { visibleLine } from '../terminal/untrusted.js';
import { throughStore } from '../threads/thread-database.js';
import type { EventView } from '../view/answer-view.js';
import { endLine, figuresLine } from '../view/run-report.js';

export interface ChatSettings {
  readonly agent: AgentConfig;
  readonly workbench: CliHarness;
  readonly thread: ThreadRuns;
  readonly screen: Screen;
  readonly view: EventView;
  /** True if stdout carries only data, without a summary. */
  readonly isQuiet: boolean;
}

type ChatResponseDone = Extract<StreamEvent['payload'], { type: 'response_done' }>;

/** The events of a run that decide how it is reported. */
class RunNotes {
  readonly startedMs = performance.now();
  readonly #final = new FinalText();
  usage: Usage | undefined;
  done: ChatResponseDone | undefined;
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

  get thread(): ThreadRuns {
    return this.#settings.thread;
  }

  /** The final answer of the last run; undefined if it has none. */
  get finalAnswer(): string | undefined {
    return this.#finalAnswer;
  }

  /** Sends a prompt to the model. Returns the exit status. */
  say(prompt: string, signal: AbortSignal): Promise<number> {
    return this.#play(signal, (watch) => this.thread.say(prompt, watch));
  }

  /** Resumes a script that waits for the user, or recovers an interrupted script. The script's run then continues. */
  resume(script: ScriptCommand, signal: AbortSignal): Promise<number> {
    return this.#play(signal, (watch) => this.thread.resume(script, watch));
  }

  async #play(signal: AbortSignal, run: (watch: RunWatch) => Promise<void>): Promise<number> {
    const { view, workbench } = this.#settings;
    const notes = new RunNotes();
    const onEvent = (event: StreamEvent) => {
      notes.take(event);
      workbench.approvals.take(event);
      view.take(event);
    };
    try {
      await throughStore(run({ signal, onEvent }));
    } finally {
      view.end();
    }
    this.#finalAnswer = notes.finalAnswer;
    this.#report(notes);
    return notes.status;
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
