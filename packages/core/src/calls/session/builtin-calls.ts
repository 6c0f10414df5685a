import type { SandboxCall } from '../../protocol/index.js';
import type { ToolCatalog, ToolSummary } from '../../tools/index.js';
import { type CallResult } from '../facade/index.js';
import { parseJson } from '../../schema/index.js';
import { hasEnded, type ScriptTasks } from './script-tasks.js';

/** The time in ms for which answers may block the event loop before other work gets a turn. */
const TURN_MS = 8;

/**
 * Maximum number of characters of answers that wait for delivery. Above this number, no answer is created until the
 * delivery.
 */
const MAX_PENDING_UNITS = 4_194_304;

/** Maximum number of characters of all answers to one script. Above this number, the script gets no further answers. */
const MAX_TOTAL_UNITS = 16_777_216;

/**
 * Answers a script's calls to the catalog and to tasks. An answer can be large and slow to create, and a script chooses
 * how many answers it requests. So answers are created over several turns of the event loop. Creation pauses while the
 * answers that wait for delivery exceed MAX_PENDING_UNITS, and ends when the total of all answers to the script exceeds
 * MAX_TOTAL_UNITS.
 */
export class BuiltinAnswers {
  readonly #settle: (call: SandboxCall, result: CallResult) => void;
  #queue: { call: SandboxCall; make: () => CallResult }[] = [];
  #turn: NodeJS.Immediate | undefined;
  #pendingUnits = 0;
  #totalUnits = 0;

  constructor(settle: (call: SandboxCall, result: CallResult) => void) {
    this.#settle = settle;
  }

  get isIdle(): boolean {
    return this.#queue.length === 0;
  }

  add(call: SandboxCall, make: () => CallResult): void {
    // defence: pending-answers-are-capped
    if (this.#queue.length > 0 || this.#pendingUnits > MAX_PENDING_UNITS) this.#queue.push({ call, make });
    else this.#answer(call, make);
  }

  /** Call this method after all answers so far were sent to the guest. */
  delivered(): void {
    this.#pendingUnits = 0;
    if (this.#queue.length > 0) this.#turn ??= setImmediate(() => this.#takeTurn());
  }

  close(): void {
    clearImmediate(this.#turn);
    this.#queue = [];
  }

  #takeTurn(): void {
    this.#turn = undefined;
    const turnEnds = performance.now() + TURN_MS;
    while (this.#queue.length > 0 && this.#pendingUnits <= MAX_PENDING_UNITS && performance.now() < turnEnds) {
      const { call, make } = this.#queue.shift()!;
      this.#answer(call, make);
    }
    if (this.#queue.length > 0 && this.#pendingUnits <= MAX_PENDING_UNITS)
      this.#turn = setImmediate(() => this.#takeTurn());
  }

  #answer(call: SandboxCall, make: () => CallResult): void {
    // defence: answers-have-a-total
    if (this.#totalUnits > MAX_TOTAL_UNITS)
      return this.#settle(
        call,
        refusal(
          'ToolBudgetExceededError',
          'The catalog and tools.spawn have answered this script with 16 MB, their maximum. Request less, or continue in another script.',
        ),
      );
    const result = attempt(make);
    const units = result.ok ? result.json.length : result.error.message.length;
    this.#pendingUnits += units;
    this.#totalUnits += units;
    this.#settle(call, result);
  }
}

/** The message for arguments that the guest's bridge never writes. */
export const WRONG_ARGUMENTS = 'The arguments are wrong. Call the function as its declaration shows.';

function attempt(make: () => CallResult): CallResult {
  try {
    return make();
  } catch {
    return refusal('ToolValidationError', WRONG_ARGUMENTS);
  }
}

function refusal(code: string, message: string): CallResult {
  return { ok: false, error: { code, message } };
}

/** Maximum number of a script's queries with cached answers, and maximum number of characters of such a query. */
const MAX_KEPT = 64;
const MAX_QUESTION_UNITS = 1_024;

/** Maximum number of found tools that the outcome of a script names. */
const MAX_FOUND = 5;

/** Answers a script's `catalog.search`, `catalog.describe` and `catalog.list`, from a cache if possible. */
export class CatalogCalls {
  readonly #catalog: ToolCatalog;
  readonly #answers = new Map<string, CallResult>();
  readonly #found = new Set<string>();

  constructor(catalog: ToolCatalog) {
    this.#catalog = catalog;
  }

  /**
   * The best tools of the searches, as scripts write their names. Empty if the script called one of them, because it
   * knows what it looked for.
   */
  foundBeside(called: ReadonlySet<string>): readonly string[] {
    return [...this.#found].some((name) => called.has(name)) ? [] : [...this.#found];
  }

  /** Answers a query. Throws a `TypeError` for an invalid query. */
  answer(questionJson: string): CallResult {
    const known = this.#answers.get(questionJson);
    if (known !== undefined) return known;
    const made = this.#make(questionJson);
    if (this.#answers.size < MAX_KEPT && questionJson.length <= MAX_QUESTION_UNITS)
      this.#answers.set(questionJson, made);
    return made;
  }

  #make(questionJson: string): CallResult {
    const { what, query, limit, name, namespace } = readArguments(questionJson);
    switch (what) {
      case 'search':
        return answer(this.#search(textArgument(query), typeof limit === 'number' ? { limit } : {}));
      case 'list':
        return answer(this.#catalog.list(namespace === undefined ? undefined : textArgument(namespace)));
      case 'describe': {
        const declaration = this.#catalog.describe(textArgument(name));
        if (declaration !== undefined) return answer(declaration);
        const message = this.#catalog.explainMissing(textArgument(name));
        return { ok: false, error: { code: 'ToolNotFoundError', message } };
      }
      default:
        throw new TypeError('The catalog has no such function. Call search, list or describe.');
    }
  }

  #search(query: string, options: Parameters<ToolCatalog['search']>[1]): readonly ToolSummary[] {
    const hits = this.#catalog.search(query, options);
    for (const { name } of hits) if (this.#found.size < MAX_FOUND) this.#found.add(name);
    return hits;
  }
}

function answer(value: unknown): CallResult {
  return { ok: true, json: JSON.stringify(value) };
}

const MAX_SHOWN_ID = 80;

/**
 * The common prefix of the ids of one run's tasks; the index of the call follows. The guest's bridge generates the same
 * ids.
 */
export function taskIdStart(runId: string): string {
  return `task_${runId}_`;
}

/** Answers a script's calls to `tools.spawn.list`, `read`, `wait` and `cancel`, which are not tool calls. */
export class TaskCalls {
  readonly #tasks: ScriptTasks;
  readonly #ownIdStart: string;
  readonly #answerLater: (call: SandboxCall, make: () => CallResult) => void;
  /**
   * The open waits, by call index. `own`: the task belongs to this script, and the facade knows what the task waits
   * for.
   */
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

  /** Answers a query, or starts to wait for a task. Throws a `TypeError` for an invalid query. */
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
        throw new TypeError('tools.spawn has no such function. Call list, read, wait or cancel.');
    }
  }

  /** Whether the script waits for a task of another script. */
  get waitsForOthers(): boolean {
    if (this.#waits.size === 0) return false;
    return [...this.#waits.values()].some(({ own }) => !own);
  }

  /** Returns the waits that have not ended. */
  open(): SandboxCall[] {
    return [...this.#waits.values()].map(({ call }) => call);
  }

  /** Ends a wait. Returns false if the call is not a wait. */
  endWait(callIndex: number): boolean {
    this.#waits.get(callIndex)?.stop();
    return this.#waits.delete(callIndex);
  }

  /** Ends every wait, because the script has ended. */
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

/**
 * Parses the guest's arguments of a call whose name starts with `$`. Throws a `TypeError` if the arguments are not a
 * record.
 */
export function readArguments(argsJson: string): Readonly<Record<string, unknown>> {
  const parsed = parseJson(argsJson);
  if (!parsed.ok || typeof parsed.value !== 'object' || parsed.value === null || Array.isArray(parsed.value))
    throw new TypeError('The arguments are not an object. Pass an object.');
  return parsed.value as Readonly<Record<string, unknown>>;
}

export function textArgument(value: unknown): string {
  if (typeof value !== 'string') throw new TypeError('The argument is not a string. Pass a string.');
  return value;
}
