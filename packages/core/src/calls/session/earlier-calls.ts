import type { Operation } from '../../protocol/index.js';
import { callIdIndex, inCallOrder, type CallResult, type SuspendedCalls, type WaitingCall } from '../facade/index.js';
import type { ResumeState } from './resume-state.js';
import type { SessionScript } from './session-options.js';
import { hasEnded, type ScriptTasks, type TaskReport } from './script-tasks.js';
import { taskIdStart } from './builtin-calls.js';

/** Called with the end of a task. `result` is undefined if the outcome of the task is unknown. */
type OnTaskEnd = (callIndex: number, operation: Operation, result: CallResult | undefined) => void;

/**
 * The calls that a script made before it was suspended or interrupted. The end of a detached task that ran at that
 * time is known if this process started the task, or if another process wrote the end to the script's journal.
 */
export class EarlierCalls implements Pick<SuspendedCalls, 'made' | 'ended'> {
  readonly made: number;
  readonly #script: Pick<SessionScript, 'scriptId' | 'clockMs'>;
  readonly #tasks: ScriptTasks | undefined;
  readonly #calls: Map<number, Operation>;
  readonly #waiting: readonly WaitingCall[];
  /** Tasks that do not run in this process, whose ends were not delivered to the script. */
  readonly #endedTasks = new Map<number, CallResult | undefined>();
  /** Tasks that run in this process. */
  readonly #running: number[] = [];

  constructor(
    earlier: ResumeState,
    script: Pick<SessionScript, 'scriptId' | 'clockMs'>,
    tasks: ScriptTasks | undefined,
  ) {
    this.made = earlier.made;
    this.#script = script;
    this.#tasks = tasks;
    this.#waiting = earlier.waiting;
    this.#calls = new Map(earlier.ended.map((operation) => [callIdIndex(operation.callId), operation]));
    for (const callIndex of earlier.running) this.#findTask(callIndex, earlier);
  }

  get ended(): Operation[] {
    return [...this.#calls.values()];
  }

  /** Undefined for anything that is no index of an earlier call. */
  operation(callIndex: unknown): Operation | undefined {
    return this.#calls.get(callIndex as number);
  }

  /**
   * Adds the calls that waited for a decision and were not resumed before the script ended. They count as not started.
   */
  withWaiting(operations: readonly Operation[]): Operation[] {
    const known = new Set(operations.map(({ callId }) => callId));
    const waiting = this.#waiting
      .filter(({ operation }) => !known.has(operation.callId))
      .map(({ operation }): Operation => ({ ...operation, status: 'not_started' }));
    return inCallOrder([...operations, ...waiting]);
  }

  /** Reports the ends of tasks: at once for tasks that have ended, and later for the others. */
  followTasks(onEnd: OnTaskEnd): void {
    for (const [callIndex, result] of this.#endedTasks) onEnd(callIndex, this.operation(callIndex)!, result);
    for (const callIndex of this.#running)
      this.#tasks?.onEnd(this.#taskId(callIndex), () => {
        const report = this.#tasks?.read(this.#taskId(callIndex));
        if (report === undefined) return;
        this.#setEnd(callIndex, taskOperation(this.operation(callIndex)!, report));
        onEnd(callIndex, this.operation(callIndex)!, taskResult(report));
      });
  }

  /** Makes the task visible to later scripts of this process. A task that this process knows stays unchanged. */
  restoreTask(callIndex: number): void {
    const operation = this.operation(callIndex);
    if (operation === undefined) return;
    const { scriptId, clockMs } = this.#script;
    const startedAtMs = Math.round(clockMs + operation.startedAtMs);
    this.#tasks?.restore({ id: this.#taskId(callIndex), scriptId, startedAtMs }, operation);
  }

  #findTask(callIndex: number, { taskEnds }: ResumeState): void {
    const operation = this.operation(callIndex);
    if (operation === undefined) return;
    const report = this.#tasks?.read(this.#taskId(callIndex));
    if (report !== undefined && !hasEnded(report.status)) {
      this.#running.push(callIndex);
      return;
    }
    const written = taskEnds.get(callIndex);
    if (report !== undefined) this.#setEnd(callIndex, taskOperation(operation, report));
    else this.#setEnd(callIndex, written?.operation ?? { ...operation, status: 'unknown' });
    this.#endedTasks.set(callIndex, report === undefined ? written?.result : taskResult(report));
    this.restoreTask(callIndex);
  }

  #setEnd(callIndex: number, operation: Operation): void {
    this.#calls.set(callIndex, operation);
  }

  #taskId(callIndex: number): string {
    return `${taskIdStart(this.#script.scriptId)}${callIndex}`;
  }
}

function taskOperation(operation: Operation, { status, result, error, durationMs }: TaskReport): Operation {
  return {
    ...operation,
    status: status === 'completed' || status === 'failed' || status === 'unknown' ? status : 'aborted',
    durationMs,
    ...(result === undefined ? {} : { result }),
    ...(error === undefined ? {} : { error: { code: error.code as never, message: error.message } }),
  };
}

/** Returns the result of a task; undefined if its outcome is unknown. */
function taskResult({ status, result, error }: TaskReport): CallResult | undefined {
  if (status === 'unknown') return undefined;
  if (status === 'completed') return { ok: true, json: result === undefined ? '' : JSON.stringify(result) };
  return { ok: false, error: error ?? { code: 'ToolExecutionError', message: 'The task was cancelled.' } };
}
