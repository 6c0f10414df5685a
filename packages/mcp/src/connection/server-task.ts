import { SdkError, SdkErrorCode } from '@modelcontextprotocol/client';
import { isRecord, limitedSignal } from '@toolscript/core/internal';
import { setTimeout as pause } from 'node:timers/promises';
import type { Backoff } from './backoff.js';
import { readableError } from './call-answers.js';
import { isLostConnection, TaskError } from './task-problem.js';
import { oneLine } from './readable.js';

/** The extension with which a server of the protocol 2026-07-28 makes tasks of calls. */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

/** A call that its server continues after it has answered. */
export interface StartedTask {
  readonly taskId: string;
  /** `extension`: of the protocol 2026-07-28, where `tasks/get` has the result. `core`: of 2025-11-25. */
  readonly kind: 'core' | 'extension';
  /** The server's first report on the task. */
  readonly report: Readonly<Record<string, unknown>>;
}

/** The way to the server of a task. */
export interface TaskLink {
  /** Sends a request, over a new connection if there is none. Resolves with the server's result, unchecked. */
  request(method: string, params: Record<string, unknown>, signal: AbortSignal): Promise<unknown>;
  /** The user's answer to a request that the server made in its report. */
  answer(key: string, request: unknown, signal: AbortSignal): Promise<unknown>;
  readonly backoff: Backoff;
  /** Maximum time without a new report, in ms. */
  readonly timeoutMs: number;
  readonly onProgress: (message: string) => void;
}

const POLL_MS = 1_000;
const MIN_POLL_MS = 20;
const MAX_POLL_MS = 30_000;
const MAX_MESSAGE = 500;
/** Maximum time for the server to acknowledge that a task ends, in ms. */
const CANCEL_MS = 5_000;

/** The task that a call has started, if its result says so. `wasAsked`: the client has asked for a task. */
export function startedTask(result: unknown, wasAsked: boolean): StartedTask | undefined {
  if (!isRecord(result)) return undefined;
  const kind = result['resultType'] === 'task' ? 'extension' : 'core';
  const report = kind === 'extension' ? result : wasAsked ? result['task'] : undefined;
  if (!isRecord(report) || typeof report['taskId'] !== 'string') return undefined;
  return { taskId: report['taskId'], kind, report };
}

/** Aborts a while after the given signal: without the id of its task, a call cannot be cancelled. */
export function abortedLater(signal: AbortSignal): AbortSignal {
  const later = new AbortController();
  const abort = () => void setTimeout(() => later.abort(signal.reason), CANCEL_MS).unref();
  if (signal.aborted) later.abort(signal.reason);
  else signal.addEventListener('abort', abort, { once: true });
  return later.signal;
}

/**
 * Follows a task to its end, and resolves with the result of the call. A lost connection is opened again, and the server
 * is asked for the same task, so that no call is made twice. If the caller or the time limit ends the wait, the task is
 * cancelled.
 */
export async function taskResult(task: StartedTask, link: TaskLink, signal: AbortSignal): Promise<unknown> {
  const limit = new TimeLimit(link.timeoutMs, signal);
  try {
    return await new ServerTask(task, link, limit).result();
  } catch (error) {
    const { aborted, reason } = limit.signal;
    if (aborted || (error instanceof TaskError && error.reason === 'unanswered')) cancel(task, link);
    throw aborted ? reason : error;
  } finally {
    limit.end();
  }
}

/** Asks the server to end the task. Nobody waits for the acknowledgement. */
function cancel({ taskId }: StartedTask, link: TaskLink): void {
  link.request('tasks/cancel', { taskId }, limitedSignal(CANCEL_MS)).catch(() => {});
}

class ServerTask {
  readonly #task: StartedTask;
  readonly #link: TaskLink;
  readonly #limit: TimeLimit;
  readonly #answered = new Set<string>();
  #status: unknown;
  #message = '';

  constructor(task: StartedTask, link: TaskLink, limit: TimeLimit) {
    this.#task = task;
    this.#link = link;
    this.#limit = limit;
  }

  async result(): Promise<unknown> {
    for (let { report } = this.#task; ; report = await this.#look()) {
      this.#announce(report);
      const { status } = report;
      const isCore = this.#task.kind === 'core';
      // A core server makes its requests while it is asked for the result.
      if (isCore && (status === 'completed' || status === 'input_required')) return this.#ask('tasks/result');
      if (status === 'completed') return this.#inlineResult(report);
      if (isCore && status === 'failed') return this.#failedResult();
      if (status === 'cancelled' || status === 'failed') throw ending(status, report);
      if (status === 'input_required') await this.#answerRequests(report['inputRequests']);
      else await pause(pollMs(report), undefined, { signal: this.#limit.signal });
    }
  }

  /** A first report of an ended task may omit the result. */
  async #inlineResult(report: StartedTask['report']): Promise<unknown> {
    return 'result' in report ? report['result'] : (await this.#look())['result'];
  }

  async #look(): Promise<StartedTask['report']> {
    const report = await this.#ask('tasks/get');
    if (isRecord(report)) return report;
    throw new TaskError('failed', 'its report is empty');
  }

  /** Reports news to the caller. News restart the time limit. */
  #announce({ status, statusMessage }: StartedTask['report']): void {
    const message = typeof statusMessage === 'string' ? oneLine(statusMessage, MAX_MESSAGE) : '';
    const isNew = message !== this.#message;
    if (!isNew && status === this.#status) return;
    [this.#status, this.#message] = [status, message];
    this.#limit.restart();
    if (isNew && message !== '') this.#link.onProgress(message);
  }

  /** The result of a failed task of the core is that of a failed call, or an error. */
  async #failedResult(): Promise<unknown> {
    const result = await this.#ask('tasks/result');
    return isRecord(result) ? { ...result, isError: true } : { isError: true, content: result };
  }

  /** Answers each request of the server once. */
  async #answerRequests(requests: unknown): Promise<void> {
    const { signal } = this.#limit;
    const open = Object.entries(isRecord(requests) ? requests : {}).filter(([key]) => !this.#answered.has(key));
    if (open.length === 0) return pause(POLL_MS, undefined, { signal });
    const inputResponses: Record<string, unknown> = {};
    for (const [key, request] of open) {
      inputResponses[key] = await this.#link.answer(key, request, signal);
      this.#answered.add(key);
    }
    await this.#ask('tasks/update', { inputResponses });
  }

  /** Sends a request about the task, again if the connection is lost meanwhile. */
  async #ask(method: string, params: Record<string, unknown> = {}): Promise<unknown> {
    const { backoff } = this.#link;
    const { signal } = this.#limit;
    for (;;) {
      try {
        const answer = await this.#link.request(method, { taskId: this.#task.taskId, ...params }, signal);
        backoff.reset();
        return answer;
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        const delayMs = isLostConnection(error) ? backoff.next() : undefined;
        if (delayMs === undefined) throw new TaskError('lost', error);
        await pause(delayMs, undefined, { signal });
      }
    }
  }
}

/** The wait that the server suggests, in ms. */
function pollMs({ pollIntervalMs, pollInterval }: StartedTask['report']): number {
  const suggested = pollIntervalMs ?? pollInterval;
  return typeof suggested === 'number' ? Math.min(MAX_POLL_MS, Math.max(MIN_POLL_MS, suggested)) : POLL_MS;
}

function ending(status: 'failed' | 'cancelled', { error, statusMessage }: StartedTask['report']): TaskError {
  const { message = statusMessage, data } = error === undefined ? {} : readableError(error);
  return new TaskError(status, typeof message === 'string' ? message : 'without a reason', data);
}

/** Aborts when the caller aborts, or after a time without news. */
class TimeLimit {
  readonly #ms: number;
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal;
  readonly #follow = () => this.#controller.abort(this.#caller.reason);
  #timer: NodeJS.Timeout | undefined;

  constructor(ms: number, caller: AbortSignal) {
    this.#ms = ms;
    this.#caller = caller;
    if (caller.aborted) this.#follow();
    caller.addEventListener('abort', this.#follow, { once: true });
    this.restart();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  restart(): void {
    clearTimeout(this.#timer);
    const passed = new SdkError(SdkErrorCode.RequestTimeout, 'Request timed out');
    this.#timer = setTimeout(() => this.#controller.abort(passed), this.#ms);
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#caller.removeEventListener('abort', this.#follow);
  }
}
