import type { Outcome } from '@toolscript/core';
import { ScriptSessions } from './sessions.js';
import { valueText } from './value-text.js';
import type { OfferedRules } from './suggested-rule.js';

const MAX_SCRIPTS = 50;
/** Maximum characters of JSON of the outcomes of one owner. The newest outcome is kept, however large it is. */
const MAX_OUTCOMES_LENGTH = 32 * 1024 * 1024;

/** The script of such a failure has not ended: it can still be resumed, or another process runs it. */
const CONTINUES: ReadonlySet<string> = new Set(['ScriptInterruptedError', 'StoreError', 'SuspensionError']);

/** The result of a script. */
interface PastScript {
  readonly scriptId: string;
  readonly status: Outcome['status'];
  readonly error?: string | undefined;
  readonly endedAt: string;
  readonly code: string;
  readonly operations: readonly { readonly tool: string; readonly status: string }[];
}

/** A script that runs as a task of the protocol. */
export interface ScriptTask {
  readonly createdAt: Date;
  changedAt: Date;
  /** The time of the change by the monotonic clock. */
  changedAtMs: number;
  status: 'working' | 'input_required' | 'completed' | 'cancelled';
  /** The approvals that the user has been asked about. */
  readonly answered: Set<string>;
}

interface EndedScript {
  readonly outcome: Outcome;
  /** The characters of its JSON. */
  readonly length: number;
}

/** The last scripts of one owner, with the newest script last. */
export class PastScripts {
  readonly sessions: ScriptSessions;
  readonly #scripts = new Map<string, PastScript>();
  /** The outcomes of scripts that have ended, for a client that requests an outcome again. */
  readonly #outcomes = new Map<string, EndedScript>();
  #outcomesLength = 0;
  /** The value that was read last: a client reads the parts of one value in turn. */
  #readValue: { readonly outcome: Outcome; readonly text: string | undefined } | undefined;
  readonly #resumedScripts = new Map<string, Promise<Outcome>>();
  readonly #tasks = new Map<string, ScriptTask>();
  /** The rules that open questions offer, by script. */
  readonly #offered = new Map<string, OfferedRules>();
  /** The scripts whose calls got no answer. */
  readonly #unanswered = new Set<string>();

  /** `endProgram`: as of `ScriptSessions`. */
  constructor(endProgram: (threadId: string) => Promise<void>) {
    this.sessions = new ScriptSessions(endProgram);
  }

  /** Adds a script. A resumed script replaces its earlier entry. Callers may omit `code` if that entry has the code. */
  add(outcome: Outcome, code?: string): void {
    const { scriptId, status, operations, error } = outcome;
    if (error?.code === 'ScriptNotFoundError') return;
    this.sessions.note(outcome);
    const known = this.#scripts.get(scriptId);
    this.#scripts.delete(scriptId);
    this.#scripts.set(scriptId, {
      scriptId,
      status,
      ...(outcome.status === 'failed' ? { error: outcome.error.message } : {}),
      endedAt: new Date().toISOString(),
      code: code ?? known?.code ?? '',
      operations: operations.map((operation) => ({ tool: operation.tool, status: operation.status })),
    });
    if (status === 'completed' || (status === 'failed' && !CONTINUES.has(error!.code))) this.#keep(outcome);
    const [oldest] = this.#scripts.keys();
    if (this.#scripts.size <= MAX_SCRIPTS) return;
    this.#scripts.delete(oldest!);
    this.#drop(oldest!);
  }

  #keep(outcome: Outcome): void {
    this.#drop(outcome.scriptId);
    const { length } = JSON.stringify(outcome);
    this.#outcomes.set(outcome.scriptId, { outcome, length });
    this.#outcomesLength += length;
    for (const oldest of this.#outcomes.keys()) {
      if (this.#outcomesLength <= MAX_OUTCOMES_LENGTH || this.#outcomes.size === 1) return;
      this.#drop(oldest);
    }
  }

  #drop(scriptId: string): void {
    this.#outcomesLength -= this.#outcomes.get(scriptId)?.length ?? 0;
    this.#outcomes.delete(scriptId);
  }

  /**
   * Resumes a script, but never twice at the same time: a second client gets the outcome of the resumption in progress.
   */
  resuming(scriptId: string, resume: () => Promise<Outcome>): Promise<Outcome> {
    const open = this.#resumedScripts.get(scriptId);
    if (open !== undefined) return open;
    const resumed = resume().finally(() => this.#resumedScripts.delete(scriptId));
    this.#resumedScripts.set(scriptId, resumed);
    return resumed;
  }

  /** Notes the rules that the questions of a script offer. The newest ones count. */
  offer(scriptId: string, rules: OfferedRules): void {
    if (rules.size > 0) this.#offered.set(scriptId, rules);
    const [oldest] = this.#offered.keys();
    if (this.#offered.size > MAX_SCRIPTS) this.#offered.delete(oldest!);
  }

  /** Returns the rules that the questions of a script offered, once. */
  takeOffered(scriptId: string): OfferedRules {
    const rules = this.#offered.get(scriptId) ?? new Map();
    this.#offered.delete(scriptId);
    return rules;
  }

  /** Notes that the call of a script got no answer. The newest ones count. */
  addUnanswered(scriptId: string): void {
    this.#unanswered.add(scriptId);
    const [oldest] = this.#unanswered;
    if (this.#unanswered.size > MAX_SCRIPTS) this.#unanswered.delete(oldest!);
  }

  /** Returns each script without an answer once. */
  takeUnanswered(): readonly string[] {
    const ids = [...this.#unanswered];
    this.#unanswered.clear();
    return ids;
  }

  /** The outcome of a script that has ended in this gateway. */
  endedOutcome(scriptId: string): Outcome | undefined {
    return this.#outcomes.get(scriptId)?.outcome;
  }

  /** The JSON text of the value of a script that has ended in this gateway. */
  valueText(scriptId: string): string | undefined {
    const outcome = this.endedOutcome(scriptId);
    if (outcome === undefined) return undefined;
    if (this.#readValue?.outcome !== outcome) this.#readValue = { outcome, text: valueText(outcome) };
    return this.#readValue.text;
  }

  /** The task of a script, which begins with the first request about it. */
  task(scriptId: string): ScriptTask {
    const known = this.#tasks.get(scriptId);
    if (known !== undefined) return known;
    const now = new Date();
    const times = { createdAt: now, changedAt: now, changedAtMs: performance.now() };
    const task: ScriptTask = { ...times, status: 'working', answered: new Set() };
    this.#tasks.set(scriptId, task);
    const [oldest] = this.#tasks.keys();
    if (this.#tasks.size > MAX_SCRIPTS) this.#tasks.delete(oldest!);
    return task;
  }

  /** The scripts that run, or have run, as tasks. */
  taskIds(): readonly string[] {
    return [...this.#tasks.keys()];
  }

  list(): readonly PastScript[] {
    return [...this.#scripts.values()];
  }
}
