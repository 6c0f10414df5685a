import type { SandboxCall } from '../protocol/index.js';
import type { CallResult } from '../tools/index.js';
import { readArguments, textArgument } from './builtin-arguments.js';
import { hasEnded, type ScriptTasks } from './script-tasks.js';

const MAX_SHOWN_ID = 80;

/**
 * The common prefix of the ids of one run's tasks; the index of the call follows. The runtime generates the same ids.
 */
export function taskIdStart(runId: string): string {
  return `task_${runId}_`;
}

/** Answers a script's `tools.spawn.list`, `read`, `wait` and `cancel`. They are not tool calls. */
export class TaskCalls {
  readonly #tasks: ScriptTasks;
  readonly #ownIdStart: string;
  readonly #answerLater: (call: SandboxCall, make: () => CallResult) => void;
  /** By call index. `own`: the task belongs to this script, and the facade knows what it waits for. */
  readonly #waits = new Map<number, { readonly call: SandboxCall; readonly stop: () => void; readonly own: boolean }>();

  /** `ownIdStart`: see `taskIdStart`. `answerLater` receives a function that creates the answer and may throw. */
  constructor(
    tasks: ScriptTasks,
    ownIdStart: string,
    answerLater: (call: SandboxCall, make: () => CallResult) => void,
  ) {
    this.#tasks = tasks;
    this.#ownIdStart = ownIdStart;
    this.#answerLater = answerLater;
  }

  /** Throws a `TypeError` for an invalid query. */
  ask(call: SandboxCall): void {
    const { what, id } = readArguments(call.argsJson);
    switch (what) {
      case 'list':
        return this.#answer(call, () => this.#tasks.list());
      case 'cancel':
        return this.#answer(call, () => this.#tasks.cancel(textArgument(id)));
      case 'read':
        return this.#report(call, textArgument(id));
      case 'wait':
        return this.#wait(call, textArgument(id));
      default:
        throw new TypeError('tools.spawn has no such function');
    }
  }

  /** Whether the script waits for a task of another script. */
  get waitsForOthers(): boolean {
    if (this.#waits.size === 0) return false;
    return [...this.#waits.values()].some(({ own }) => !own);
  }

  /** The waits that have not ended. */
  open(): SandboxCall[] {
    return [...this.#waits.values()].map(({ call }) => call);
  }

  /** Ends a wait; false if the call is not a wait. */
  endWait(callIndex: number): boolean {
    this.#waits.get(callIndex)?.stop();
    return this.#waits.delete(callIndex);
  }

  /** The script has ended. */
  close(): void {
    for (const { stop } of this.#waits.values()) stop();
    this.#waits.clear();
  }

  #wait(call: SandboxCall, id: string): void {
    const status = this.#tasks.read(id)?.status;
    if (status === undefined || hasEnded(status)) return this.#report(call, id);
    const stop = this.#tasks.onEnd(id, () => {
      this.#waits.delete(call.callIndex);
      this.#report(call, id);
    });
    this.#waits.set(call.callIndex, { call, stop, own: id.startsWith(this.#ownIdStart) });
  }

  #report(call: SandboxCall, id: string): void {
    this.#answerLater(call, () => {
      const report = this.#tasks.read(id);
      if (report !== undefined) return { ok: true, json: JSON.stringify(report) };
      const shown = id.length > MAX_SHOWN_ID ? `${id.slice(0, MAX_SHOWN_ID)}…` : id;
      const message = `There is no task "${shown}". \`await tools.spawn.list()\` lists the existing ones.`;
      return { ok: false, error: { code: 'ToolNotFoundError', message } };
    });
  }

  #answer(call: SandboxCall, make: () => unknown): void {
    this.#answerLater(call, () => ({ ok: true, json: JSON.stringify(make()) }));
  }
}
