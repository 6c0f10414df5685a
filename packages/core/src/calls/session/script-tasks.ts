import type { GuestError, Operation } from '../../protocol/index.js';
import type { CallTask, OpenTaskStatus } from '../facade/index.js';

/**
 * The detached tasks that one script sees: the tasks of its principal, including those of earlier scripts. The harness
 * stores the tasks, because they outlive the session that started them. For a task that does not exist, `read` returns
 * undefined, `cancel` returns false, and `onEnd` never calls the listener.
 */
export interface ScriptTasks {
  /** Opens a task before its call is made, so that no report is missed. A task with the same id is cancelled. */
  open(start: TaskStart): OpenTask;
  /** The tasks in start order. */
  list(): TaskSummary[];
  read(id: string): TaskReport | undefined;
  /** Cancels a task. The task ends only when its tool has ended. Returns false if the task had ended before. */
  cancel(id: string): boolean;
  /** Adds a task of another process. Such a task reports nothing more. A task with the same id stays unchanged. */
  restore(task: RestoredTask, operation: Operation): void;
  /** Calls the listener once, when a running task ends. Returns a function that removes the listener. */
  onEnd(id: string, listener: () => void): () => void;
}

export interface TaskStart {
  /** Unique among all scripts of the harness. */
  id: string;
  /** The tool's name as the script wrote it. */
  tool: string;
  scriptId: string;
  inputJson: string;
  abort: (reason: string) => void;
}

export interface RestoredTask {
  id: string;
  scriptId: string;
  /** The start of the task, in ms since 1970. */
  startedAtMs: number;
}

/** A task that the session started. */
export interface OpenTask extends CallTask {
  /** The call was answered with an error. If the call was never admitted, nothing else is reported. */
  rejected(error: GuestError): void;
}

/**
 * `unknown`: the process of the task ended, or another process resumed the script, before the task's end was written.
 */
export type TaskStatus = OpenTaskStatus | 'completed' | 'failed' | 'cancelled' | 'unknown';

export function hasEnded(status: TaskStatus): boolean {
  return status !== 'queued' && status !== 'awaiting_approval' && status !== 'running';
}

export interface TaskSummary {
  id: string;
  tool: string;
  status: TaskStatus;
  /** The start of the task, in ms since 1970. */
  startedAtMs: number;
  /** The duration of the task, until now if the task has not ended. */
  durationMs: number;
}

export interface TaskReport extends TaskSummary {
  scriptId: string;
  input: unknown;
  /** The tail of the tool's output. If the tool has no output: the tail of its progress messages, one on each line. */
  output: string;
  outputTruncated: boolean;
  /** The tool's result; present if the task completed. */
  result?: unknown;
  error?: { code: string; message: string } | undefined;
}
