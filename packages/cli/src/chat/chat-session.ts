import { FinalText, type AgentConfig } from '@toolscript/core/agent';
import type { MessageItem, OutputItem, StreamEvent, Usage } from '@toolscript/core/protocol';
import type { RunWatch, ScriptCommand, ThreadRuns } from '@toolscript/service';
import type { Hook } from '../configuration/schema.js';
import type { Settings } from '../configuration/settings.js';
import { EXIT } from '../exit-status.js';
import type { CliHarness } from '../harness/cli-harness.js';
import { runHook } from '../hooks/run-hook.js';
import type { Screen } from '../terminal/screen.js';
import { jsonText, visibleLine } from '../terminal/untrusted.js';
import { throughStore } from '../threads/thread-database.js';
import type { EventView } from '../view/answer-view.js';
import { addFigures, endLine, figuresLine, type RunFigures } from '../view/run-report.js';
import type { RunResult } from './final-answer.js';

export interface ChatSettings {
  readonly agent: AgentConfig;
  readonly settings: Pick<Settings, 'hooks' | 'cwd'>;
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
  /** The scripts that have ended, for hooks. */
  readonly scripts: object[] = [];
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

  result(threadId: string): RunResult {
    const { done, error, usage } = this;
    const status = done?.status ?? (error === undefined ? 'incomplete' : 'failed');
    return { type: 'result', thread_id: threadId, status, answer: this.#answer ?? null, usage, error };
  }

  /** The text of the last answer, or its value as JSON. Undefined if the run has not completed. */
  get #answer(): string | undefined {
    if (this.done?.status !== 'completed') return undefined;
    return this.done.output === undefined ? this.#final.text : jsonText(this.done.output);
  }

  get status(): number {
    const { status } = this.done ?? { status: 'completed' };
    if (status === 'suspended') return this.hasFailed ? EXIT.failed : EXIT.suspended;
    return status === 'completed' && !this.hasFailed ? EXIT.completed : EXIT.failed;
  }

  #takeItem(item: OutputItem): void {
    this.#final.take(item);
    if (item.type !== 'script_execution_output' || item.stands_in === true) return;
    const { call_id: callId, status, error, operations } = item;
    this.hasFailed = status === 'failed';
    const calls = operations.map(({ tool, status: end }) => ({ tool, status: end }));
    this.scripts.push({ callId, status, calls, ...(error === undefined ? {} : { error: error.message }) });
  }
}

function runCost(done: ChatResponseDone | undefined): number | undefined {
  const { cost } = (done ?? {}) as { cost?: number | undefined };
  return cost;
}

/** A conversation with a model: sends prompts, resumes scripts, and shows the output of each run to the user. */
export class ChatSession {
  readonly #settings: ChatSettings;
  #result: RunResult | undefined;
  #total: RunFigures = { answers: 0, durationMs: 0, usage: undefined, cost: undefined };

  constructor(settings: ChatSettings) {
    this.#settings = settings;
  }

  get thread(): ThreadRuns {
    return this.#settings.thread;
  }

  /** The result of the last run; undefined if no run has ended. */
  get result(): RunResult | undefined {
    return this.#result;
  }

  /** The figures of all runs of this session together. */
  get total(): RunFigures {
    return this.#total;
  }

  /** Sends a prompt, with images and files, to the model. Returns the exit status. */
  say(prompt: string, signal: AbortSignal, attached?: Pick<MessageItem, 'images' | 'files'>): Promise<number> {
    return this.#play(signal, (watch) => this.thread.say(prompt, watch, attached));
  }

  /** Continues the run that another process has handed over or left unfinished. Returns the exit status. */
  takeOver(signal: AbortSignal): Promise<number> {
    return this.#play(signal, (watch) => this.thread.takeOver(watch));
  }

  /** Has the model summarise the conversation, which then continues with the summary. Returns the exit status. */
  compact(signal: AbortSignal): Promise<number> {
    return this.#play(signal, (watch) => this.thread.compact(watch));
  }

  /** Resumes a script that waits for the user, or recovers an interrupted script. The script's run then continues. */
  resume(script: ScriptCommand, signal: AbortSignal): Promise<number> {
    return this.#play(signal, (watch) => this.thread.resume(script, watch));
  }

  async #play(signal: AbortSignal, run: (watch: RunWatch) => Promise<void>): Promise<number> {
    const { view, workbench, settings } = this.#settings;
    const { hooks } = settings;
    const notes = new RunNotes();
    let afterScripts = Promise.resolve();
    const onEvent = (event: StreamEvent) => {
      notes.take(event);
      for (const script of notes.scripts.splice(0))
        afterScripts = afterScripts.then(() => this.#runHooks(hooks.afterScript, { event: 'after_script', ...script }));
      workbench.approvals.take(event);
      view.take(event);
    };
    try {
      await throughStore(run({ signal, onEvent }));
    } finally {
      view.end();
    }
    await afterScripts;
    if (this.thread.handedOver !== undefined) return EXIT.completed;
    this.#result = notes.result(this.thread.id);
    this.#report(notes);
    const { type: _type, ...result } = this.#result;
    await this.#runHooks(hooks.atEnd, { event: 'end', ...result });
    return notes.status;
  }

  /** Runs hooks of the user, one after another. Their failures change nothing. */
  async #runHooks(hooks: readonly Hook[], facts: object): Promise<void> {
    const { settings, screen } = this.#settings;
    for (const hook of hooks) {
      const reason = await runHook(hook, { ...facts, workspace: settings.cwd }, settings.cwd);
      if (reason !== undefined) screen.notice(reason);
    }
  }

  #report(notes: RunNotes): void {
    const { screen, isQuiet } = this.#settings;
    const { error, done, answers, usage, startedMs } = notes;
    if (error !== undefined) screen.notice(`${visibleLine(error.code)}: ${visibleLine(error.message)}`);
    const durationMs = performance.now() - startedMs;
    const figures = { answers, usage, cost: runCost(done), durationMs };
    this.#total = addFigures(this.#total, figures);
    if (isQuiet) return;
    const end = done === undefined ? undefined : endLine(done, screen.style);
    if (end !== undefined) screen.line(end);
    screen.line(figuresLine(figures, screen.style));
  }
}
