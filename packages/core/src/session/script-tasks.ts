import type { GuestError, Operation } from '../protocol/index.js';

/**
 * The detached tasks that one script sees: those of its principal, also of earlier scripts. The harness keeps
 * them, because they outlive the session that started them. Undefined everywhere means: no such task.
 */
export interface ScriptTasks {
  /** Called before the call is made, so that nothing of it is missed. A task of the same id is cancelled. */
  open(start: TaskStart): OpenTask;
  /** In order of start. */
  list(): TaskSummary[];
  read(id: string): TaskReport | undefined;
  /** False where the task had ended. It ends only when its tool has. */
  cancel(id: string): boolean;
  /** A task of another process, of which no more will be heard. A task of the same id stays as it is. */
  restore(task: RestoredTask, operation: Operation): void;
  /** Calls back once, when a task that has not ended ends. The function it gives takes that back. */
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

/** What the session tells of a task that it started. */
export interface OpenTask {
  /** Where it stands; at first it is queued. */
  stands(status: OpenTaskStatus): void;
  /** What it tells of its progress: shown where it puts out nothing. */
  said(message: string): void;
  /** What it puts out. */
  put(text: string): void;
  ended(operation: Operation): void;
  /** The call was answered with an error; where it was never admitted, this is all that is told of it. */
  rejected(error: GuestError): void;
}

/** `queued`: it waits for one of the places of its script's tasks. */
export type OpenTaskStatus = 'queued' | 'awaiting_approval' | 'running';

/** `unknown`: its process ended, or went on with it alone, before anybody wrote its end. */
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
  /** The tail of what the tool put out; where it puts out nothing, of what it told of its progress, a line each. */
  output: string;
  outputTruncated: boolean;
  /** Where it completed. */
  result?: unknown;
  error?: { code: string; message: string };
}
