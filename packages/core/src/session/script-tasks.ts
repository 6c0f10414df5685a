import type { GuestError, Operation } from '../protocol/index.js';

/**
 * The detached tasks that one script sees: those of its principal, also of earlier scripts. The harness stores them,
 * because they outlive the session that started them. Undefined everywhere means: no such task.
 */
export interface ScriptTasks {
  /** Called before the call is made, so that nothing of it is missed. A task of the same id is cancelled. */
  open(start: TaskStart): OpenTask;
  /** In order of start. */
  list(): TaskSummary[];
  read(id: string): TaskReport | undefined;
  /** False where the task had ended. It ends only when its tool has. */
  cancel(id: string): boolean;
  /** A task of another process, which reports nothing more. A task of the same id stays as it is. */
  restore(task: RestoredTask, operation: Operation): void;
  /** Calls back once, when a task that has not ended ends. Returns a function that removes the listener. */
  onEnd(id: string, listener: () => void): () => void;
}

export interface TaskStart {
  /** Unique among all scripts of the harness. */
  id: string;
  /** As the script wrote it. */
  tool: string;
  scriptId: string;
  inputJson: string;
  abort: (reason: string) => void;
}

export interface RestoredTask {
  id: string;
  scriptId: string;
  /** In ms since 1970. */
  startedAtMs: number;
}

/** What the session reports about a task that it started. */
export interface OpenTask {
  /** Its status; at first it is queued. */
  setStatus(status: OpenTaskStatus): void;
  /** Its progress: shown where it has no output. */
  addProgress(message: string): void;
  /** Its output. */
  addOutput(text: string): void;
  ended(operation: Operation): void;
  /** The call was answered with an error; where it was never admitted, nothing else is reported. */
  rejected(error: GuestError): void;
}

/** `queued`: it waits for one of the places of its script's tasks. */
export type OpenTaskStatus = 'queued' | 'awaiting_approval' | 'running';

/** `unknown`: its process ended, or another process resumed its script, before its end was written. */
export type TaskStatus = OpenTaskStatus | 'completed' | 'failed' | 'cancelled' | 'unknown';

export function hasEnded(status: TaskStatus): boolean {
  return status !== 'queued' && status !== 'awaiting_approval' && status !== 'running';
}

export interface TaskSummary {
  id: string;
  tool: string;
  status: TaskStatus;
  /** In ms since 1970. */
  startedAtMs: number;
  /** Until now, where it has not ended. */
  durationMs: number;
}

export interface TaskReport extends TaskSummary {
  scriptId: string;
  input: unknown;
  /** The tail of the tool's output; where it has none, of its progress, one line each. */
  output: string;
  outputTruncated: boolean;
  /** Where it completed. */
  result?: unknown;
  error?: { code: string; message: string };
}
