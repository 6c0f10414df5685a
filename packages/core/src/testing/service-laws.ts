import { ok, rejects } from 'node:assert/strict';
import type {
  ApprovalDraft,
  CreatedRun,
  DocumentLimits,
  EventLog,
  EventPayload,
  OutputItem,
  RunDraft,
  RunFence,
  ServiceStores,
  StreamEvent,
} from '../protocol/index.js';

export interface TestStoresOptions {
  /** The clock for leases and expiries, in ms since 1970. Replaces the store's own. */
  now?: (() => number) | undefined;
  documentLimits?: Partial<DocumentLimits> | undefined;
  /** Opens the data of these existing stores again instead of creating empty ones. */
  beside?: ServiceStores | undefined;
}

/** Creates empty stores, or opens existing ones again. */
export type MakeStores = (options?: TestStoresOptions) => ServiceStores | Promise<ServiceStores>;

export interface TestEventLogOptions {
  now?: (() => number) | undefined;
  /** Opens the data of this log again. */
  beside?: EventLog | undefined;
}

/** Creates an empty log, or opens an existing one again. */
export type MakeEventLog = (options?: TestEventLogOptions) => EventLog | Promise<EventLog>;

/** One law of a port. `check` rejects if the implementation breaks the law. It closes everything that `make` opened. */
export interface PortLaw<Make> {
  readonly name: string;
  check(make: Make): Promise<void>;
}
export type StoresLaw = PortLaw<MakeStores>;
export type EventLogLaw = PortLaw<MakeEventLog>;

type Closable = { close(): Promise<void> };

export function storesLaw(
  name: string,
  check: (stores: ServiceStores, makeStores: MakeStores) => Promise<void>,
): StoresLaw {
  return closingLaw(name, check);
}

export function logLaw(name: string, check: (log: EventLog, makeLog: MakeEventLog) => Promise<void>): EventLogLaw {
  return closingLaw(name, check);
}

/** A law that closes what it opened. */
export function closingLaw<Made extends Closable, Options>(
  name: string,
  check: (made: Made, make: (options?: Options) => Promise<Made>) => Promise<void>,
): PortLaw<(options?: Options) => Made | Promise<Made>> {
  return {
    name,
    async check(make) {
      const all: Made[] = [];
      const remember = async (options?: Options) => {
        const made = await make(options);
        all.push(made);
        return made;
      };
      try {
        await check(await remember(), remember);
      } finally {
        await Promise.all(all.map((made) => made.close()));
      }
    },
  };
}

/** A clock that changes only when it is set. */
export class TestClock {
  nowMs = 1_750_000_000_000;
  readonly now = (): number => this.nowMs;
}

export const LEASE = { owner: 'the suite', leaseMs: 60_000 };

/** Texts that have broken stores before: quotes, NUL, lone surrogates, wildcards, line endings, SQL and JSON syntax. */
export const HOSTILE_TEXTS: readonly string[] = [
  '',
  ' ',
  `'; DROP TABLE threads; --`,
  '"\\"`$1 ? :name @p {{x}}',
  'a\0b\0',
  '\ud800x\udc00',
  '100% _any_ *? [a-z] \\%',
  'line\nend\r\n\u2028\u0085\ttab',
  '{"a":1}',
  '\ufeffé😀e\u0301',
  'null',
  '0',
];

export function userInput(text: string): OutputItem[] {
  return [{ type: 'message', id: 'item_user', role: 'user', content: text }];
}

export function runDraft(change: Partial<RunDraft> = {}): RunDraft {
  return { principal: 'ada', thread: { create: { title: 'a thread' } }, input: userInput('hello'), ...change };
}

/** Creates a run that the caller has claimed. */
export async function heldRun(
  { runs }: ServiceStores,
  change: Partial<RunDraft> = {},
): Promise<CreatedRun & { fence: RunFence }> {
  const created = await runs.create(runDraft({ claim: LEASE, ...change }));
  return { ...created, fence: { runId: created.run.runId, epoch: 1 } };
}

export function approvalDraft(approvalId: string, change: Partial<ApprovalDraft['request']> = {}): ApprovalDraft {
  const request = {
    approvalId,
    callId: `call_${approvalId}`,
    tool: 'pay',
    input: { eur: 1 },
    inputJson: '{"eur":1}',
    effect: 'external' as const,
    rendered: 'pay 1 EUR',
    plan: [],
    covers: [],
    digest: 'd',
    planned: false,
    createdAt: Date.now(),
  };
  return { request: { ...request, ...change } };
}

type RunNames = { readonly runId: string; readonly threadId: string; readonly turnId: string };

/** The run's event with this seq. */
export function runEvent({ runId, threadId, turnId }: RunNames, seq: number, payload?: EventPayload): StreamEvent {
  return {
    event_id: `evt_${runId}_${seq}`,
    run_id: runId,
    thread_id: threadId,
    turn_id: turnId,
    seq,
    timestamp: 175e10 + seq,
    payload: payload ?? {
      type: 'item_delta',
      item_id: 'item_1',
      delta: `text ${seq}`,
    },
  };
}

export function runEvents(run: RunNames, count: number, first = 0): StreamEvent[] {
  return Array.from({ length: count }, (_, index) => runEvent(run, first + index));
}

export const DONE: EventPayload = { type: 'response_done', status: 'completed' };

export function messagePayload(id: string, content: string): EventPayload {
  return { type: 'item_done', item_id: id, final_item: { type: 'message', id, role: 'assistant', content } };
}

/** Checks that the action fails with an error of this kind. A store may throw or reject. */
export async function refuses(action: () => unknown, kind: new (...parameters: never) => Error): Promise<void> {
  await rejects(async () => void (await action()), kind);
}

/** All entries of a list, page by page; fails if the pages do not end. */
export async function allPages<Entry>(
  page: (after: string | undefined) => Promise<{ entries: readonly Entry[]; next: string | undefined }>,
): Promise<Entry[]> {
  const all: Entry[] = [];
  let after: string | undefined;
  for (let count = 0; count < 10_000; count++) {
    const { entries, next } = await page(after);
    all.push(...entries);
    if (next === undefined) return all;
    ok(next !== after && entries.length > 0, 'the list does not advance');
    after = next;
  }
  throw new Error('The list does not end: a cursor leads to an earlier page. Return cursors that advance.');
}

export const GARBAGE_CURSORS: readonly string[] = [
  '',
  'x',
  '.',
  'thread',
  'thread.',
  'thread.-1',
  'thread.1.1',
  '../..',
  'a\0',
  '\ud800',
  'run.zzzzzzzzzzzzzzz',
  "' OR 1=1 --",
];
