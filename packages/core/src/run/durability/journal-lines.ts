import type {
  Decision,
  JournalContent,
  JsonValue,
  Operation,
  Outcome,
  Settlement,
  RunIdentity,
} from '../../protocol/index.js';
import type { InterruptedScript, ScriptStart, TapeBatch, TapeCall } from '../../calls/session/index.js';
import { callIdIndex } from '../../calls/facade/index.js';
import { sha256 } from '../../text/crypto.js';

/** The version of the lines. A journal of another version cannot be read. */
export const JOURNAL_VERSION = 1;

/** One line of a script's journal, as JSON. Only settlements contain results of tools. */
export type JournalLine =
  | StartedLine
  /** The intent to make a call with effects. It is written before the call. */
  | IntentLine
  /** A call with effects, or a detached task, ended while the guest was busy or suspended, or after its end. */
  | { t: 'finished'; settlement: Settlement; ended: Operation }
  /** Settlements for the guest. The line is written before they reach the guest. */
  | {
      t: 'delivered';
      clockMs: number;
      calls: readonly TapeCall[];
      settlements: readonly Settlement[];
      ended: readonly Operation[];
    }
  /** Calls that no delivery has listed yet. */
  | { t: 'made'; calls: readonly TapeCall[] }
  /** The suspension is stored in the script's slot. `sha256`: the hash of its text. */
  | { t: 'suspended'; atMs: number; sha256: string }
  /** Decisions were made, and the script has not been resumed yet. */
  | { t: 'decided'; atMs: number; decisions: StoredDecisions }
  | { t: 'resumed'; atMs: number; decisions: StoredDecisions }
  /** The call is being reverted by its tool, or its revert has ended. */
  | { t: 'revert'; atMs: number; callId: string; state: RevertState }
  | EndedLine;

interface IntentLine {
  readonly t: 'intent';
  /** The operation has the status `unknown`, as it is if the process ends now. */
  readonly operation: Operation;
  readonly isRepeatable: boolean;
}

export type RevertState = 'started' | 'done' | 'failed';

/** The decisions, by approval id. */
export type StoredDecisions = Readonly<Record<string, Decision>>;

export interface EndedLine {
  t: 'ended';
  atMs: number;
  status: 'completed' | 'failed';
  code?: string | undefined;
  message?: string | undefined;
  /** Absent if the script was stored after its end, for its detached tasks. */
  outcome?: StoredOutcome | undefined;
}

/** The outcome of a script without what other lines store: its plan, and the results of its operations. */
export type StoredOutcome = Pick<
  Outcome,
  'value' | 'error' | 'output' | 'logs' | 'operations' | 'diagnostics' | 'metadata' | 'heap' | 'scope'
>;

export interface StartedLine {
  t: 'started';
  version: typeof JOURNAL_VERSION;
  atMs: number;
  identity: RunIdentity;
  /** The run by which lists find the script. */
  runId?: string | undefined;
  durability: 'process' | 'power';
  /** The id of the structured call that the script makes. */
  callId?: string | undefined;
  start: ScriptStart;
}

/** The state that a journal describes. */
export interface JournalState {
  identity: RunIdentity;
  runId: string | undefined;
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
  if (first?.t !== 'started' || first.version !== JOURNAL_VERSION) return undefined;
  const reader = new StoryReader(slot);
  for (const line of rest) reader.read(line);
  return {
    identity: first.identity,
    runId: first.runId,
    durability: first.durability,
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
  readonly #endedCalls = new Map<number, Operation>();
  readonly #intents = new Map<number, IntentLine>();
  readonly #undeliveredSettlements = new Map<number, Settlement>();
  readonly #deliveredIndexes = new Set<number>();

  constructor(slot: string | undefined) {
    this.#slot = slot;
  }

  read(line: JournalLine): void {
    switch (line.t) {
      case 'intent':
        // Before the script is resumed, an intent does not show progress: a queued detached task may start while its
        // script is suspended.
        if (this.isResumed) this.#markResumed();
        this.#intents.set(callIdIndex(line.operation.callId), line);
        return;
      case 'finished':
        if (!this.#deliveredIndexes.has(line.settlement.callIndex))
          this.#undeliveredSettlements.set(line.settlement.callIndex, line.settlement);
        return this.#end(line.ended, line.settlement);
      case 'delivered':
        this.#markResumed();
        return this.#deliver(line);
      case 'made':
        this.#calls.push(...line.calls);
        return;
      case 'suspended':
        // defence: journals-name-their-suspension
        this.suspension = this.#slot !== undefined && sha256(this.#slot) === line.sha256 ? this.#slot : undefined;
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
    const intents = [...this.#intents];
    return {
      start,
      tape: { calls: this.#calls, batches: this.#batches },
      ended: [...this.#endedCalls.values()],
      unknown: intents.map(([, { operation }]) => operation),
      repeatable: new Set(intents.flatMap(([callIndex, { isRepeatable }]) => (isRepeatable ? [callIndex] : []))),
      ready: [...this.#undeliveredSettlements.values()],
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
      this.#undeliveredSettlements.delete(settlement.callIndex);
      this.#deliveredIndexes.add(settlement.callIndex);
      const operation = ended.find(({ callId }) => callIdIndex(callId) === settlement.callIndex);
      if (operation !== undefined) this.#end(operation, settlement);
    }
  }

  #end(operation: Operation, settlement: Settlement): void {
    const callIndex = callIdIndex(operation.callId);
    this.#intents.delete(callIndex);
    this.#endedCalls.set(callIndex, withResult(operation, settlement));
  }
}

/** Returns the call that a stored script makes. */
export function storedCall({ contextJson }: Pick<ScriptStart, 'contextJson'>): { name: string; input: JsonValue } {
  const { call } = JSON.parse(contextJson) as { call: { path: string[]; args: JsonValue[] } };
  return { name: call.path.join('.'), input: call.args[0] ?? {} };
}

/*
 * The settlement that delivered a call's result to the script stores the result. A store that has the settlement and
 * the operation stores the result once: the operation is written without its result, and a reader adds the result
 * again.
 */

export function withoutResult({ result: _result, ...operation }: Operation): Operation {
  return operation;
}

export function withResult(operation: Operation, settlement: Settlement | undefined): Operation {
  if (settlement?.ok !== true || settlement.json === '' || operation.status !== 'completed') return operation;
  return { ...operation, result: JSON.parse(settlement.json) as unknown };
}

export function storedOutcome({
  value,
  error,
  output,
  logs,
  operations,
  diagnostics,
  metadata,
  heap,
  scope,
}: Outcome): StoredOutcome {
  const stored = { value, error, output, logs, diagnostics, metadata, heap, scope };
  return { ...stored, operations: operations.map(withoutResult) };
}

/** Returns the outcome of an ended script; undefined if its journal does not contain the outcome. */
export function restoredOutcome({ script, ended }: JournalState): Outcome | undefined {
  if (ended?.outcome === undefined) return undefined;
  const { start } = script;
  const results = new Map(script.ended.map(({ callId, result }) => [callId, result]));
  const operations = ended.outcome.operations.map((operation) => {
    const result = results.get(operation.callId);
    return result === undefined ? operation : { ...operation, result };
  });
  const { status } = ended;
  return { ...ended.outcome, operations, status, scriptId: start.scriptId, plan: start.script.plan } as Outcome;
}

/** The settlements of a tape, by the index of their call. */
export function tapeSettlements(batches: readonly TapeBatch[]): ReadonlyMap<number, Settlement> {
  return new Map(
    batches.flatMap(({ settlements }) => settlements.map((settlement) => [settlement.callIndex, settlement])),
  );
}
