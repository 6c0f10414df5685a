import type { SandboxCall } from '../protocol/index.js';
import type { CallResult } from '../tools/index.js';
import type { ScriptTasks } from './script-tasks.js';

type TaskQuestion = { what: 'list' } | { what: 'read' | 'wait' | 'cancel'; id: string };

const MAX_SHOWN_ID = 80;

/** What the ids of one run's tasks begin with; the index of the call follows. The runtime makes the same ids. */
export function taskIdStart(runId: string): string {
  return `task_${runId}_`;
}

/** Answers a script's `tools.spawn.list`, `read`, `wait` and `cancel`. They are no tool calls. */
export class TaskCalls {
  readonly #tasks: ScriptTasks;
  readonly #ownIdStart: string;
  readonly #settle: (call: SandboxCall, result: CallResult) => void;
  /** By call index. `own`: the task is this script's, and the facade knows what it waits for. */
  readonly #waits = new Map<number, { readonly call: SandboxCall; readonly stop: () => void; readonly own: boolean }>();

  /** `ownIdStart`: see `taskIdStart`. */
  constructor(tasks: ScriptTasks, ownIdStart: string, settle: (call: SandboxCall, result: CallResult) => void) {
    this.#tasks = tasks;
    this.#ownIdStart = ownIdStart;
    this.#settle = settle;
  }

  ask(call: SandboxCall): void {
    const question = JSON.parse(call.argsJson) as TaskQuestion;
    switch (question.what) {
      case 'list':
        return this.#answer(call, this.#tasks.list());
      case 'cancel':
        return this.#answer(call, this.#tasks.cancel(question.id));
      case 'read':
        return this.#report(call, question.id);
      case 'wait':
        return this.#wait(call, question.id);
    }
  }

  /** The script waits for a task of another one. */
  get waitsForOthers(): boolean {
    if (this.#waits.size === 0) return false;
    return [...this.#waits.values()].some(({ own }) => !own);
  }

  /** The waits that go on. */
  open(): SandboxCall[] {
    return [...this.#waits.values()].map(({ call }) => call);
  }

  /** Gives up a wait; false where the call is none. */
  forget(callIndex: number): boolean {
    this.#waits.get(callIndex)?.stop();
    return this.#waits.delete(callIndex);
  }

  /** The script has ended. */
  close(): void {
    for (const { stop } of this.#waits.values()) stop();
    this.#waits.clear();
  }

  #wait(call: SandboxCall, id: string): void {
    if (this.#tasks.read(id)?.status !== 'running') return this.#report(call, id);
    const stop = this.#tasks.onEnd(id, () => {
      this.#waits.delete(call.callIndex);
      this.#report(call, id);
    });
    this.#waits.set(call.callIndex, { call, stop, own: id.startsWith(this.#ownIdStart) });
  }

  #report(call: SandboxCall, id: string): void {
    const report = this.#tasks.read(id);
    if (report !== undefined) return this.#answer(call, report);
    const shown = id.length > MAX_SHOWN_ID ? `${id.slice(0, MAX_SHOWN_ID)}…` : id;
    const message = `There is no task "${shown}". \`await tools.spawn.list()\` tells those that there are.`;
    this.#settle(call, { ok: false, error: { code: 'ToolNotFoundError', message } });
  }

  #answer(call: SandboxCall, value: unknown): void {
    this.#settle(call, { ok: true, json: JSON.stringify(value) });
  }
}
