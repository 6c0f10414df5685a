import type { GuestError, Operation } from '../protocol/index.js';
import type { OpenTaskStatus } from '../calls/facade/index.js';
import {
  hasEnded,
  type OpenTask,
  type RestoredTask,
  type ScriptTasks,
  type TaskReport,
  type TaskStart,
  type TaskStatus,
  type TaskSummary,
} from '../calls/session/index.js';

/**
 * The maximum number of ended tasks that stay readable, and the maximum characters of all of them. The newest ended
 * task always stays.
 */
const MAX_ENDED = 100;
const MAX_ENDED_LENGTH = 16 * 1024 * 1024;
const MAX_OUTPUT_LENGTH = 65_536;

const CANCELLED = 'a script cancelled it';
const CLOSED = 'the harness was closed';

/**
 * The tasks that scripts of one harness started with `tools.spawn.exec`. Scripts see only tasks of their own principal.
 * A task ends when its tool ends, so a cancelled task runs until its tool stops.
 */
export class DetachedTasks {
  /** The tasks in start order. */
  readonly #tasks = new Map<string, DetachedTask>();
  /** The ended tasks in end order. */
  readonly #endedTasks: DetachedTask[] = [];
  #endedLength = 0;
  #isClosed = false;

  /** Returns the tasks that scripts of one principal see. */
  of(principal: string | undefined): ScriptTasks {
    const find = (id: string): DetachedTask | undefined => {
      const task = this.#tasks.get(id);
      // defence: tasks-belong-to-a-principal
      return task?.principal === principal ? task : undefined;
    };
    return {
      open: (start) => this.#open(start, principal),
      restore: (task, operation) => this.#restore(task, operation, principal),
      list: () =>
        [...this.#tasks.values()].filter((task) => task.principal === principal).map((task) => task.summary()),
      read: (id) => find(id)?.report(),
      cancel: (id) => find(id)?.cancel(CANCELLED) ?? false,
      onEnd: (id, listener) => find(id)?.onEnd(listener) ?? (() => {}),
    };
  }

  /** Cancels running and future tasks. Idempotent. */
  close(): void {
    this.#isClosed = true;
    for (const task of this.#tasks.values()) task.cancel(CLOSED);
  }

  #open(start: TaskStart, principal: string | undefined): OpenTask {
    this.#tasks.get(start.id)?.cancel('its script was run again');
    const task: DetachedTask = new DetachedTask(start, principal, () => this.#keepEnded(task));
    this.#tasks.set(start.id, task);
    // The cancellation is deferred, because the call is made after this function returns.
    if (this.#isClosed) queueMicrotask(() => task.cancel(CLOSED));
    return task;
  }

  #restore({ startedAtMs, ...about }: RestoredTask, operation: Operation, principal: string | undefined): void {
    if (this.#tasks.has(about.id)) return;
    const { tool, input } = operation;
    const start = { ...about, tool, inputJson: JSON.stringify(input) };
    const task: DetachedTask = new DetachedTask(start, principal, () => this.#keepEnded(task), startedAtMs);
    this.#tasks.set(about.id, task);
    task.ended(operation);
  }

  #keepEnded(task: DetachedTask): void {
    this.#endedTasks.push(task);
    this.#endedLength += task.length;
    while (
      this.#endedTasks.length > MAX_ENDED ||
      (this.#endedLength > MAX_ENDED_LENGTH && this.#endedTasks.length > 1)
    ) {
      const oldest = this.#endedTasks.shift() as DetachedTask;
      this.#endedLength -= oldest.length;
      if (this.#tasks.get(oldest.id) === oldest) this.#tasks.delete(oldest.id);
    }
  }
}

class DetachedTask implements OpenTask {
  readonly id: string;
  readonly principal: string | undefined;
  readonly #start: Omit<TaskStart, 'abort'>;
  readonly #startedAtMs: number;
  readonly #since = performance.now();
  #output = new OutputTail();
  #putsOut = false;
  readonly #listeners = new Set<() => void>();
  readonly #onEnded: () => void;
  /** The callback refers to the whole session of its script, so it is dropped when the task ends. */
  #abort: TaskStart['abort'] | undefined;
  #status: TaskStatus = 'queued';
  #isCancelling = false;
  /** Set after the end. */
  #durationMs: number | undefined;
  #resultJson: string | undefined;
  #error: { code: string; message: string } | undefined;

  constructor(
    { abort, ...start }: Omit<TaskStart, 'abort'> & Partial<Pick<TaskStart, 'abort'>>,
    principal: string | undefined,
    onEnded: () => void,
    startedAtMs = Date.now(),
  ) {
    this.id = start.id;
    this.principal = principal;
    this.#start = start;
    this.#abort = abort;
    this.#onEnded = onEnded;
    this.#startedAtMs = startedAtMs;
  }

  setStatus(status: OpenTaskStatus): void {
    if (!this.#hasEnded) this.#status = status;
  }

  addProgress(message: string): void {
    if (!this.#hasEnded && !this.#putsOut) this.#output.add(`${message}\n`);
  }

  addOutput(text: string): void {
    if (this.#hasEnded) return;
    if (!this.#putsOut) this.#output = new OutputTail();
    this.#putsOut = true;
    this.#output.add(text);
  }

  ended({ status, result, error, durationMs }: Operation): void {
    if (this.#hasEnded) return;
    if (result !== undefined) this.#resultJson = JSON.stringify(result);
    this.#end(taskStatus(status, error !== undefined), error, this.#abort === undefined ? durationMs : undefined);
  }

  rejected(error: GuestError): void {
    // The call of a cancelled task is rejected at once, but the task ends only when its tool has stopped.
    if (!this.#isCancelling) this.#end('failed', error);
  }

  /** Cancels the task. Returns false if the task has already ended. */
  cancel(reason: string): boolean {
    if (this.#hasEnded) return false;
    this.#isCancelling = true;
    this.#abort?.(reason);
    return true;
  }

  /** Calls the listener when the task ends. Returns a function that removes the listener. */
  onEnd(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  summary(): TaskSummary {
    return {
      id: this.id,
      tool: this.#start.tool,
      status: this.#status,
      startedAtMs: this.#startedAtMs,
      durationMs: this.#durationMs ?? this.#age(),
    };
  }

  report(): TaskReport {
    return {
      ...this.summary(),
      scriptId: this.#start.scriptId,
      input: JSON.parse(this.#start.inputJson),
      output: this.#output.text,
      outputTruncated: this.#output.isCut,
      ...(this.#resultJson === undefined ? {} : { result: JSON.parse(this.#resultJson) }),
      ...(this.#error === undefined ? {} : { error: this.#error }),
    };
  }

  /** The number of characters that the task stores. */
  get length(): number {
    const { tool, inputJson } = this.#start;
    return tool.length + inputJson.length + this.#output.text.length + (this.#resultJson?.length ?? 0);
  }

  #age(): number {
    return Math.round(performance.now() - this.#since);
  }

  get #hasEnded(): boolean {
    return hasEnded(this.#status);
  }

  #end(status: TaskStatus, error: { code: string; message: string } | undefined, durationMs = this.#age()): void {
    if (this.#hasEnded) return;
    this.#status = status;
    this.#durationMs = Math.round(durationMs);
    if (error !== undefined) this.#error = { code: error.code, message: error.message };
    this.#abort = undefined;
    const listeners = [...this.#listeners];
    this.#listeners.clear();
    for (const listener of listeners) listener();
    this.#onEnded();
  }
}

/**
 * Converts the status of a task's operation. An operation that did not start and has no error was aborted before its
 * start.
 */
function taskStatus(status: Operation['status'], hasError: boolean): TaskStatus {
  if (status === 'completed' || status === 'unknown') return status;
  return status === 'aborted' || (status === 'not_started' && !hasError) ? 'cancelled' : 'failed';
}

/** The tail of a task's output. A truncated tail starts with a whole line, unless the tail contains no line ending. */
class OutputTail {
  #text = '';
  #isCut = false;

  add(text: string): void {
    this.#text += text;
    // The text is truncated only occasionally, so the tail sometimes stores up to twice the maximum.
    if (this.#text.length > 2 * MAX_OUTPUT_LENGTH) this.#cut();
  }

  get text(): string {
    this.#cut();
    return this.#text;
  }

  get isCut(): boolean {
    this.#cut();
    return this.#isCut;
  }

  #cut(): void {
    if (this.#text.length <= MAX_OUTPUT_LENGTH) return;
    const tail = this.#text.slice(-MAX_OUTPUT_LENGTH);
    this.#text = tail.slice(tail.indexOf('\n') + 1);
    this.#isCut = true;
  }
}
