import { describe, expect, it } from 'vitest';
import {
  documentStoreConformance,
  eventLogConformance,
  runStoreConformance,
  threadStoreConformance,
  type TestStoresOptions,
} from '@toolscript/core/testing';
import type { DocumentStore, EventLog, RunStore, ServiceStores, ThreadStore } from '@toolscript/core/protocol';
import { memoryEventLog, memoryStores } from '#service/stores/index.js';

/** The port with some functions replaced by weaker ones, which are given the port. */
function weakened<Port extends object>(port: Port, weaken: (port: Port) => Partial<Port>): Port {
  const weak = weaken(port);
  return new Proxy(port, {
    get: (target, key) => {
      const member: unknown = Reflect.get(key in weak ? weak : target, key);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
}

function stores(weaken: {
  runs?: (runs: RunStore) => Partial<RunStore>;
  threads?: (threads: ThreadStore) => Partial<ThreadStore>;
  documents?: (documents: DocumentStore) => Partial<DocumentStore>;
}) {
  return ({ beside, ...options }: TestStoresOptions = {}): ServiceStores => {
    if (beside !== undefined) return beside;
    const made = memoryStores(options);
    return {
      documents: weakened(made.documents, weaken.documents ?? (() => ({}))),
      heaps: made.heaps,
      runs: weakened(made.runs, weaken.runs ?? (() => ({}))),
      threads: weakened(made.threads, weaken.threads ?? (() => ({}))),
      close: () => made.close(),
    };
  };
}

function log(weaken: (log: EventLog) => Partial<EventLog>) {
  return ({ beside, now }: { beside?: EventLog | undefined; now?: (() => number) | undefined } = {}): EventLog =>
    beside ?? weakened(memoryEventLog(now === undefined ? {} : { now }), weaken);
}

/** Each weakness, and a law that must detect it. */
const WEAK_STORES: readonly [law: string, make: ReturnType<typeof stores>][] = [
  [
    'the same key with another thread, input or options is rejected',
    stores({ runs: (runs) => ({ create: (draft) => runs.create({ ...draft, idempotencyKey: undefined }) }) }),
  ],
  [
    'a stale epoch can do nothing',
    stores({
      runs: (runs) => ({
        finish: async (fence, end) => {
          const epoch = (await runs.get(fence.runId))?.epoch ?? 0;
          return runs.finish({ ...fence, epoch }, end);
        },
      }),
    }),
  ],
  [
    'a renewed lease continues; a lost lease is reported, and changes nothing',
    stores({ runs: () => ({ renew: async () => ({ isHeld: true, isCancelRequested: false }) }) }),
  ],
  [
    'with an epoch, only the holder appends, from its claim to the end of the run',
    stores({ threads: (threads) => ({ append: (events) => threads.append(events) }) }),
  ],
  [
    'events that are already stored are skipped, as a whole batch or in part',
    stores({
      threads: (threads) => ({
        append: async (events) => {
          const { length } = (await threads.readEvents(events[0]!.run_id)).events;
          return threads.append(events.map((event, index) => ({ ...event, seq: length + index })));
        },
      }),
    }),
  ],
  [
    'one of many concurrent decisions wins, across two handles, and every caller learns the winner',
    stores({
      threads: (threads) => ({
        decide: async (...parameters) => {
          const decided = await threads.decide(...parameters);
          return decided && { ...decided, isWinner: true };
        },
      }),
    }),
  ],
  [
    'a thread is deleted with everything under it, and nothing else is',
    stores({ threads: () => ({ delete: async () => [] }) }),
  ],
  [
    'a save that is repeated with its key returns the first version, across two handles too',
    stores({ documents: (port) => ({ save: ({ idempotencyKey: _key, ...draft }) => port.save(draft) }) }),
  ],
  [
    'concurrent saves lose no version, and one of several saves that expect the same version wins',
    stores({ documents: (port) => ({ save: ({ ifVersion: _version, ...draft }) => port.save(draft) }) }),
  ],
  [
    'the newest version decides when a document expires',
    stores({ documents: (port) => ({ save: ({ expiresAt: _time, ...draft }) => port.save(draft) }) }),
  ],
  [
    'documents of different scopes, kinds or names are separate',
    stores({
      documents: (port) => ({
        save: (draft) => port.save({ ...draft, name: draft.name.toLowerCase() }),
        read: (place, version) => port.read({ ...place, name: place.name.toLowerCase() }, version),
      }),
    }),
  ],
  [
    'a search matches every character literally',
    stores({
      threads: (threads) => ({
        list: ({ text, ...query } = {}) =>
          threads.list({ ...query, ...(text === undefined ? {} : { text: text.replaceAll('%', '') }) }),
      }),
    }),
  ],
];

const WEAK_LOGS: readonly [law: string, make: ReturnType<typeof log>][] = [
  [
    'a later epoch fences the earlier ones as soon as it is opened',
    log((port) => ({ publish: (_epoch, events) => port.publish(1_000, events) })),
  ],
  [
    'a subscription yields each event once, old and new, and ends with the run',
    log((port) => ({
      async *subscribe(runId) {
        const { events } = await port.read(runId);
        yield* events;
        yield* port.subscribe(runId, { from: Math.max(0, events.length - 1) });
      },
    })),
  ],
  [
    'after five deliveries a run is a dead letter, until it is revived',
    log((port) => ({ reject: (delivery) => port.reject(delivery, '') })),
  ],
  [
    'runs are served in turn, each by one consumer at a time, across two handles',
    log((port) => ({
      receive: async (options) => {
        const { events } = await port.read('run_a');
        return events.length === 0 ? undefined : { group: options.group, runId: 'run_a', token: 1, attempt: 1, events };
      },
    })),
  ],
];

const stateLaws = [...documentStoreConformance(), ...threadStoreConformance(), ...runStoreConformance()];

describe('the suites', () => {
  it.each(WEAK_STORES)('find stores that break "%s"', async (name, make) => {
    const law = stateLaws.find((law) => law.name === name);
    await expect(law!.check(make)).rejects.toThrow();
  });

  it.each(WEAK_LOGS)('find a log that breaks "%s"', async (name, make) => {
    const law = eventLogConformance().find((law) => law.name === name);
    await expect(law!.check(make)).rejects.toThrow();
  });

  it.each([threadStoreConformance(), runStoreConformance(), eventLogConformance()])(
    'give each law a unique name (%#)',
    (...laws) => {
      expect(laws.length).toBeGreaterThan(25);
      expect(new Set(laws.map(({ name }) => name)).size).toBe(laws.length);
    },
  );
});
