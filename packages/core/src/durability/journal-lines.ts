import type { Decision, JournalContent, Operation, Settlement, RunIdentity } from '../protocol/index.js';
import type { InterruptedScript, ScriptStart, TapeBatch, TapeCall } from '../session/index.js';
import type { CallIntent, EndedCall } from '../tools/index.js';
import { withResult } from './call-results.js';

/** One line of a script's journal. JSON; results of tools stand in the settlements only. */
export type JournalLine =
  | StartedLine
  /** Before a call with effects. */
  | { t: 'intent'; callIndex: number; operation: Operation; isRepeatable?: boolean }
  /** A call with effects, or a detached task, ended while the guest was busy or suspended, or after it had ended. */
  | { t: 'finished'; settlement: Settlement; ended: EndedCall }
  /** Before the guest is told. */
  | {
      t: 'delivered';
      clockMs: number;
      calls: readonly TapeCall[];
      settlements: readonly Settlement[];
      ended: readonly EndedCall[];
    }
  /** Calls that no delivery has told of yet. */
  | { t: 'made'; calls: readonly TapeCall[] }
  /** The suspension stands in the script's slot; version 1 has it in the line. */
  | { t: 'suspended'; atMs: number; suspension?: string }
  /** Somebody has decided, and nobody has gone on yet. */
  | { t: 'decided'; atMs: number; decisions: StoredDecisions }
  | { t: 'resumed'; atMs: number; decisions: StoredDecisions }
  | EndedLine;

/** By approval. */
export type StoredDecisions = Readonly<Record<string, Decision>>;

export interface EndedLine {
  t: 'ended';
  atMs: number;
  status: 'completed' | 'failed';
  code?: string;
  message?: string;
}

export interface StartedLine {
  t: 'started';
  /** 1: suspensions stand in lines. */
  version: 1 | 2;
  atMs: number;
  identity: RunIdentity;
  /** Not in version 1, which was `process`. */
  durability?: 'process' | 'power';
  /** The script makes this structured call. */
  callId?: string;
  start: ScriptStart;
}

/** What a journal tells. */
export interface JournalState {
  identity: RunIdentity;
  durability: 'process' | 'power';
  callId: string | undefined;
  startedAtMs: number;
  updatedAtMs: number;
  script: InterruptedScript;
  /** The newest suspension, where nothing has gone on since. */
  suspension: string | undefined;
  /** There is one that cannot be read any more. */
  isSuspensionLost: boolean;
  /** Somebody has gone on with it, and of that nothing is known but what was decided. */
  isResumed: boolean;
  /** What was decided about it. */
  decisions: StoredDecisions;
  ended: EndedLine | undefined;
}

/** Undefined where the lines do not begin with a script's start that this version knows. */
function readStory({ lines, slot }: Pick<JournalContent, 'lines' | 'slot'>): JournalState | undefined {
  const all = lines.map((line) => JSON.parse(line) as JournalLine);
  if (all[0]?.t !== 'started') return undefined;
  // A script that was run a second time had done nothing the first time.
  const [first, ...rest] = all.slice(all.findLastIndex(({ t }) => t === 'started'));
  if (first?.t !== 'started' || (first.version !== 1 && first.version !== 2)) return undefined;
  const reader = new StoryReader(slot);
  for (const line of rest) reader.take(line);
  return {
    identity: first.identity,
    durability: first.durability ?? 'process',
    callId: first.callId,
    startedAtMs: first.atMs,
    updatedAtMs: Math.max(first.atMs, ...rest.map((line) => ('atMs' in line ? line.atMs : 0))),
    script: reader.script(first.start),
    suspension: reader.suspension,
    isSuspensionLost: reader.isSuspensionLost,
    isResumed: reader.isResumed,
    decisions: reader.decisions,
    ended: reader.ended,
  };
}

/** The same; undefined also where a line cannot be read. */
export function journalState(content: Pick<JournalContent, 'lines' | 'slot'>): JournalState | undefined {
  try {
    return readStory(content);
  } catch {
    return undefined;
  }
}

class StoryReader {
  readonly #slot: string | undefined;
  suspension: string | undefined;
  isSuspensionLost = false;
  isResumed = false;
  decisions: StoredDecisions = {};
  ended: JournalState['ended'];
  readonly #calls: TapeCall[] = [];
  readonly #batches: TapeBatch[] = [];
  readonly #endedCalls = new Map<number, EndedCall>();
  readonly #intents = new Map<number, CallIntent>();
  readonly #undelivered = new Map<number, Settlement>();
  readonly #delivered = new Set<number>();

  constructor(slot: string | undefined) {
    this.#slot = slot;
  }

  take(line: JournalLine): void {
    switch (line.t) {
      case 'intent':
        // A detached task that was queued may start while its script is suspended.
        if (this.isResumed) this.#goesOn();
        this.#intents.set(line.callIndex, {
          callIndex: line.callIndex,
          operation: line.operation,
          isRepeatable: line.isRepeatable === true,
        });
        return;
      case 'finished':
        if (!this.#delivered.has(line.settlement.callIndex))
          this.#undelivered.set(line.settlement.callIndex, line.settlement);
        return this.#end(line.ended, line.settlement);
      case 'delivered':
        this.#goesOn();
        return this.#deliver(line);
      case 'made':
        this.#calls.push(...line.calls);
        return;
      case 'suspended':
        this.suspension = line.suspension ?? this.#slot;
        this.isSuspensionLost = this.suspension === undefined;
        this.isResumed = false;
        this.decisions = {};
        return;
      case 'resumed':
        this.isResumed = true;
        this.decisions = { ...this.decisions, ...line.decisions };
        return;
      case 'decided':
        this.decisions = { ...this.decisions, ...line.decisions };
        return;
      case 'ended':
        this.ended = line;
    }
  }

  script(start: ScriptStart): InterruptedScript {
    const unknown = [...this.#intents.values()].map((intent) => ({
      ...intent,
      operation: { ...intent.operation, status: 'unknown' as const },
    }));
    return {
      start,
      tape: { calls: this.#calls, batches: this.#batches },
      ended: [...this.#endedCalls.values()],
      unknown,
      ready: [...this.#undelivered.values()],
    };
  }

  #goesOn(): void {
    this.suspension = undefined;
    this.isSuspensionLost = false;
  }

  #deliver({ clockMs, calls, settlements, ended }: Extract<JournalLine, { t: 'delivered' }>): void {
    this.#calls.push(...calls);
    this.#batches.push({ clockMs, settlements });
    for (const settlement of settlements) {
      this.#undelivered.delete(settlement.callIndex);
      this.#delivered.add(settlement.callIndex);
      const call = ended.find(({ callIndex }) => callIndex === settlement.callIndex);
      if (call !== undefined) this.#end(call, settlement);
    }
  }

  #end(call: EndedCall, settlement: Settlement): void {
    this.#intents.delete(call.callIndex);
    this.#endedCalls.set(call.callIndex, withResult(call, new Map([[call.callIndex, settlement]])));
  }
}
