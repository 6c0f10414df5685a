import { foldResponse } from '@toolscript/core/history';
import { isFinalRunState } from '@toolscript/core/internal';
import type { HarnessStore, OutputItem, ServiceStores, StreamEvent } from '@toolscript/core/protocol';
import { isDeepStrictEqual } from 'node:util';
import { openDatabase, openEventLog } from '@toolscript/service/stores';
import { allEvents, PERSISTENCE_GROUP } from '@toolscript/service';
import { operationsIn } from '../../crash/support/operations.js';
import type { Cluster, LedgerLine } from './cluster.js';
import type { Load, LoadedRun, UndoneScript } from './load.js';

type Effect = Extract<LedgerLine, { tag: string }>;
type Claimed = Extract<LedgerLine, { claimed: string }>;
type Reverted = Extract<LedgerLine, { reverted: string }>;

export interface Verdict {
  /** Each broken law in one sentence. */
  readonly problems: readonly string[];
  readonly figures: {
    readonly states: Record<string, number>;
    readonly events: number;
    readonly effects: number;
    readonly unknownEffects: number;
    readonly approvals: number;
    readonly interruptedRuns: number;
    /** Runs that an old release has begun and a new one has continued. */
    readonly upgradedRuns: number;
    readonly undoneScripts: number;
    readonly undoneCalls: number;
    /** Undone calls whose undo was interrupted: they are reported as not undone. */
    readonly unknownUndos: number;
    readonly maxEpoch: number;
    readonly deadLetters: number;
  };
}

/** Compares the stores and the ledger after a campaign with the events that its clients have seen. */
export async function judge(cluster: Cluster, load: Load): Promise<Verdict> {
  const database = await openDatabase(cluster.postgres.url);
  const { stores, scripts } = database;
  const log = await openEventLog(cluster.redis.url());
  try {
    const judgement = new Judgement(stores, scripts!, cluster.ledger());
    for (const run of load.runs) await judgement.run(run);
    judgement.ledger();
    judgement.releases(cluster.oldNames);
    for (const script of load.undone) judgement.undo(script);
    judgement.otherUndos(load.undone);
    for (const [approvalId, decisions] of load.decisions) await judgement.decisions(approvalId, decisions);
    const { letters } = await log.deadLetters({ group: PERSISTENCE_GROUP });
    const figures = { ...judgement.figures, approvals: load.decisions.size, deadLetters: letters.length };
    return { problems: [...load.problems, ...judgement.problems], figures };
  } finally {
    await log.close();
    await database.close();
  }
}

class Judgement {
  readonly problems: string[] = [];
  readonly figures = {
    states: {} as Record<string, number>,
    events: 0,
    effects: 0,
    unknownEffects: 0,
    interruptedRuns: 0,
    upgradedRuns: 0,
    undoneScripts: 0,
    undoneCalls: 0,
    unknownUndos: 0,
    maxEpoch: 0,
  };
  readonly #stores: ServiceStores;
  readonly #scripts: HarnessStore;
  readonly #effects: readonly Effect[];
  readonly #claims: readonly Claimed[];
  readonly #reverts: readonly Reverted[];
  readonly #ledger: readonly LedgerLine[];
  /** The run of each key of the load. */
  readonly #runIds = new Map<string, string>();
  /** The operations that the service has reported, by tag. */
  readonly #operations = new Map<string, string>();

  constructor(stores: ServiceStores, scripts: HarnessStore, ledger: readonly LedgerLine[]) {
    this.#stores = stores;
    this.#scripts = scripts;
    this.#ledger = ledger;
    this.#effects = ledger.filter((line): line is Effect => 'tag' in line);
    this.#claims = ledger.filter((line): line is Claimed => 'claimed' in line);
    this.#reverts = ledger.filter((line): line is Reverted => 'reverted' in line);
    this.figures.effects = this.#effects.length;
    this.figures.undoneCalls = this.#reverts.length;
  }

  async run({ key, runId, isLeft, seen }: LoadedRun): Promise<void> {
    const about = `${key} ${runId}`;
    this.#runIds.set(key, runId);
    const run = await this.#stores.runs.get(runId);
    if (run === undefined) return this.#break(`${about} was accepted, and does not exist`);
    const { state, epoch, error } = run;
    this.figures.states[state] = (this.figures.states[state] ?? 0) + 1;
    this.figures.maxEpoch = Math.max(this.figures.maxEpoch, epoch);
    const events = await allEvents(this.#stores, runId);
    const expected = isLeft && !isUnasked(key, events) ? 'suspended' : 'completed';
    if (state !== expected)
      this.#break(`${about} is ${state}, not ${expected}: ${JSON.stringify(error ?? events.slice(-12))}`);
    this.#storedEvents(about, events, seen);
    if (isFinalRunState(state)) await this.#items(about, run.threadId, runId, events);
    const suspensions = events.filter(({ payload }) => payload.type === 'response_done').length;
    if (epoch > suspensions) this.figures.interruptedRuns += 1;
    for (const [tag, status] of operationsIn(events)) this.#operations.set(tag, status);
    this.#givenUp(about, events);
    await this.#storedScripts(about, events);
  }

  /** The store has each script with an effect. */
  async #storedScripts(about: string, events: readonly StreamEvent[]): Promise<void> {
    for (const item of foldResponse(events).output_items)
      if (
        item.type === 'script_execution_output' &&
        item.operations.some(({ effect, status }) => effect !== 'read' && status === 'completed') &&
        (item.script_id === undefined || (await this.#scripts.journal.read(item.script_id)) === undefined)
      )
        this.#break(`${about}: the store does not have the script of ${JSON.stringify(item)}`);
  }

  /**
   * The scripts of the load end as failed only if a process has ended during a call with an effect, or if this machine
   * is too busy to begin them.
   */
  #givenUp(about: string, events: readonly StreamEvent[]): void {
    for (const item of foldResponse(events).output_items)
      if (
        item.type === 'script_execution_output' &&
        item.status === 'failed' &&
        !isRefused(item) &&
        item.operations.every(({ effect }) => effect === 'read')
      )
        this.#break(`${about}: a script without an effect was given up: ${JSON.stringify(item)}`);
  }

  #storedEvents(about: string, events: readonly StreamEvent[], seen: readonly StreamEvent[]): void {
    this.figures.events += events.length;
    if (events.some(({ seq }, index) => seq !== index)) this.#break(`${about} has a gap or a duplicate in its events`);
    const other = seen.findIndex((event, index) => !isDeepStrictEqual(event, events[index]));
    if (other !== -1)
      this.#break(
        `${about}: its client has seen ${JSON.stringify(seen[other])} as event ${other}, and the thread has ${JSON.stringify(events[other])}`,
      );
    if (seen.length < events.length) this.#break(`${about}: its client has ${seen.length} of ${events.length} events`);
  }

  async #items(about: string, threadId: string, runId: string, events: readonly StreamEvent[]): Promise<void> {
    const { turns } = await this.#stores.threads.readItems(threadId);
    const items = turns.find((turn) => turn.runId === runId)?.items.slice(1);
    if (!isDeepStrictEqual(items, foldResponse(events).output_items))
      this.#break(`${about}: its items are not the fold of its events`);
  }

  ledger(): void {
    const count = (lines: readonly string[]) => lines.filter((line, index) => lines.indexOf(line) !== index);
    for (const claim of count(this.#claims.map(({ claimed, epoch }) => `${claimed} ${epoch}`)))
      this.#break(`the claim ${claim} was given twice`);
    for (const tag of count(this.#effects.map(({ tag }) => tag)))
      if (this.#operations.get(tag) !== 'unknown') this.#break(`the effect ${tag} was repeated`);
    for (const tag of count(this.#effects.map(({ key }) => key))) this.#break(`the key ${tag} was used twice`);
    for (const { tag } of this.#effects) this.#reported(tag);
    const executed = new Set(this.#effects.map(({ tag }) => tag));
    for (const [tag, status] of this.#operations)
      if (status === 'completed' && !executed.has(tag))
        this.#break(`the effect ${tag} is reported, and did not happen`);
    this.#owners();
  }

  #reported(tag: string): void {
    const status = this.#operations.get(tag);
    if (status === 'unknown') this.figures.unknownEffects += 1;
    if (status === undefined || !/completed|unknown|aborted/u.test(status))
      this.#break(`the effect ${tag} has happened, and is reported as ${status}`);
  }

  /**
   * A process whose claim has ended has no further effect, except for a call that was already running: its outcome is
   * unknown.
   */
  #owners(): void {
    const epochs = new Map<string, number>();
    const newest = new Map<string, number>();
    for (const line of this.#ledger) {
      if ('claimed' in line) {
        epochs.set(`${line.process} ${line.claimed}`, line.epoch);
        continue;
      }
      if ('reverted' in line) continue;
      const runId = this.#runIds.get(line.tag.split('.')[0]!)!;
      const epoch = epochs.get(`${line.process} ${runId}`);
      if (epoch === undefined)
        this.#break(`${line.process} had the effect ${line.tag} of a run that it had not claimed`);
      else if (epoch < (newest.get(runId) ?? 0) && this.#operations.get(line.tag) !== 'unknown')
        this.#break(`${line.process} had the effect ${line.tag} after the next owner of the run`);
      else newest.set(runId, Math.max(epoch, newest.get(runId) ?? 0));
    }
  }

  /** An old release claims no run that a new one has claimed. */
  releases(old: ReadonlySet<string>): void {
    for (const runId of new Set(this.#claims.map(({ claimed }) => claimed))) {
      const claims = this.#claims.filter(({ claimed }) => claimed === runId);
      const inOrder = claims.toSorted((one, other) => one.epoch - other.epoch).map(({ process }) => old.has(process));
      const firstNew = inOrder.indexOf(false);
      if (firstNew > 0) this.figures.upgradedRuns += 1;
      if (firstNew !== -1 && inOrder.lastIndexOf(true) > firstNew)
        this.#break(`an old release has claimed ${runId} after a new one`);
    }
  }

  /** Each completed call is undone once, or is reported as not undone. Its undo has happened once at most. */
  undo({ run: { key, seen }, scriptId, notUndone }: UndoneScript): void {
    this.figures.undoneScripts += 1;
    const operations = foldResponse(seen).output_items.flatMap((item) =>
      item.type === 'script_execution_output' && item.script_id === scriptId ? item.operations : [],
    );
    for (const { call_id, tool, status, input } of operations) {
      if (tool !== 'mark') continue;
      const tag = String((input as { tag: unknown }).tag);
      const count = this.#reverts.filter(({ reverted }) => reverted === tag).length;
      if (count > 1) this.#break(`${key}: the undo of ${tag} was repeated`);
      if (count === 1 && notUndone.has(call_id as string)) this.figures.unknownUndos += 1;
      if (count === 1 && status !== 'completed') this.#break(`${key}: ${tag} was undone, although it is ${status}`);
      if (count === 0 && status === 'completed' && !notUndone.has(call_id as string))
        this.#break(`${key}: ${tag} is reported as undone, and was not`);
    }
  }

  /** Nothing is undone that nobody has asked for. */
  otherUndos(undone: readonly UndoneScript[]): void {
    const keys = new Set(undone.map(({ run }) => run.key));
    for (const { reverted } of this.#reverts)
      if (!keys.has(reverted.split('.')[0]!)) this.#break(`${reverted} was undone, and nobody has asked for it`);
  }

  async decisions(approvalId: string, decisions: readonly string[]): Promise<void> {
    const approval = await this.#stores.threads.approval(approvalId);
    if (decisions.length !== 1) this.#break(`the approval ${approvalId} was decided ${decisions.length} times`);
    const state = decisions[0] === 'approve' ? 'approved' : 'denied';
    if (approval?.state !== state) this.#break(`the approval ${approvalId} is ${approval?.state}, not ${state}`);
    const { tag } = approval!.request.input as { tag: string };
    if (state === 'denied' && this.#effects.some((effect) => effect.tag === tag))
      this.#break(`the denied call ${tag} has happened`);
  }

  #break(problem: string): void {
    this.problems.push(problem);
  }
}

/**
 * No user is asked, and the script ends: a call fails if the store is unavailable when the call should be suspended, and
 * a script fails before its first line if no sandbox becomes free.
 */
function isUnasked(key: string, events: readonly StreamEvent[]): boolean {
  return operationsIn(events).get(`${key}.left`) === 'failed' || foldResponse(events).output_items.some(isRefused);
}

/** A script that a busy machine has refused, which the model may send again. */
function isRefused(item: OutputItem): boolean {
  return item.type === 'script_execution_output' && item.error?.code === 'HarnessBusyError';
}
