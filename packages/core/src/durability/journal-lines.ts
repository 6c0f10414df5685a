import type { Decision, JournalContent, Operation, Settlement, RunIdentity } from '../protocol/index.js';
import type { InterruptedScript, ScriptStart, TapeBatch, TapeCall } from '../session/index.js';
import type { CallIntent, EndedCall } from '../tools/index.js';

/** One line of a script's journal, as JSON. Only settlements contain results of tools. */
export type JournalLine =
  | StartedLine
  /** The intent to make a call with effects. It is written before the call. */
  | { t: 'intent'; callIndex: number; operation: Operation; isRepeatable?: boolean }
  /** A call with effects, or a detached task, ended while the guest was busy or suspended, or after its end. */
  | { t: 'finished'; settlement: Settlement; ended: EndedCall }
  /** Settlements for the guest. The line is written before they reach the guest. */
  | {
      t: 'delivered';
      clockMs: number;
      calls: readonly TapeCall[];
      settlements: readonly Settlement[];
      ended: readonly EndedCall[];
    }
  /** Calls that no delivery has listed yet. */
  | { t: 'made'; calls: readonly TapeCall[] }
  /** The suspension is stored in the script's slot; version 1 stored the suspension in the line. */
  | { t: 'suspended'; atMs: number; suspension?: string }
  /** Decisions were made, and the script has not been resumed yet. */
  | { t: 'decided'; atMs: number; decisions: StoredDecisions }
  | { t: 'resumed'; atMs: number; decisions: StoredDecisions }
  /** The call is being reverted by its tool, or its revert has ended. */
  | { t: 'revert'; atMs: number; callId: string; state: RevertState }
  | EndedLine;

export type RevertState = 'started' | 'done' | 'failed';

/** The decisions, by approval id. */
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
  /** Version 1 stores suspensions in lines. */
  version: 1 | 2;
  atMs: number;
  identity: RunIdentity;
  /** Missing in version 1, which always meant `process`. */
  durability?: 'process' | 'power';
  /** The id of the structured call that the script makes. */
  callId?: string;
  start: ScriptStart;
}

/** The state that a journal describes. */
export interface JournalState {
  identity: RunIdentity;
  durability: 'process' | 'power';
  callId: string | undefined;
  startedAtMs: number;
  updatedAtMs: number;
  script: InterruptedScript;
  /** The newest suspension; undefined after the script was resumed and has made progress. */
  suspension: string | undefined;
  /** True: a suspension exists but is unreadable. */
  isSuspensionLost: boolean;
  /** True: the script was resumed after the newest suspension. */
  isResumed: boolean;
  /** The decisions since the newest suspension. */
  decisions: StoredDecisions;
  ended: EndedLine | undefined;
  /** The calls whose revert has started, by call id. */
  reverts: ReadonlyMap<string, RevertState>;
}

/**
 * Returns the state that the lines describe; undefined if the lines do not begin with a `started` line of a known
 * version. Throws if a line is unreadable.
 */
function readState({ lines, slot }: Pick<JournalContent, 'lines' | 'slot'>): JournalState | undefined {
  const all = lines.map((line) => JSON.parse(line) as JournalLine);
  if (all[0]?.t !== 'started') return undefined;
  // A script that has several `started` lines had done nothing before the last one.
  const [first, ...rest] = all.slice(all.findLastIndex(({ t }) => t === 'started'));
  if (first?.t !== 'started' || (first.version !== 1 && first.version !== 2)) return undefined;
  const reader = new StoryReader(slot);
  for (const line of rest) reader.read(line);
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
    reverts: reader.reverts,
  };
}

/** Like `readState`, but returns undefined if a line is unreadable. */
export function journalState(content: Pick<JournalContent, 'lines' | 'slot'>): JournalState | undefined {
  try {
    return readState(content);
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
  readonly reverts = new Map<string, RevertState>();
  readonly #calls: TapeCall[] = [];
  readonly #batches: TapeBatch[] = [];
  readonly #endedCalls = new Map<number, EndedCall>();
  readonly #intents = new Map<number, CallIntent>();
  readonly #undelivered = new Map<number, Settlement>();
  readonly #delivered = new Set<number>();

  constructor(slot: string | undefined) {
    this.#slot = slot;
  }

  read(line: JournalLine): void {
    switch (line.t) {
      case 'intent':
        // Before the script is resumed, an intent does not show progress: a queued detached task may start while its
        // script is suspended.
        if (this.isResumed) this.#markResumed();
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
        this.#markResumed();
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
      case 'revert':
        return void this.reverts.set(line.callId, line.state);
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

  #markResumed(): void {
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

/*
 * The settlement that delivered a call's result to the script stores the result. A store that has the settlement and
 * the operation stores the result once: the operation is written without its result, and a reader adds the result
 * again.
 */

export function withoutResult({ callIndex, operation }: EndedCall): EndedCall {
  const { result: _result, ...rest } = operation;
  return { callIndex, operation: rest };
}

export function withResult({ callIndex, operation }: EndedCall, results: ReadonlyMap<number, Settlement>): EndedCall {
  const settlement = results.get(callIndex);
  if (settlement?.ok !== true || settlement.json === '' || operation.status !== 'completed')
    return { callIndex, operation };
  return { callIndex, operation: { ...operation, result: JSON.parse(settlement.json) as unknown } };
}

/** The settlements of a tape, by the index of their call. */
export function resultsOf(batches: readonly TapeBatch[]): ReadonlyMap<number, Settlement> {
  return new Map(
    batches.flatMap(({ settlements }) => settlements.map((settlement) => [settlement.callIndex, settlement])),
  );
}
