import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type {
  Delivery,
  DocumentPlace,
  DocumentScope,
  EventLog,
  ServiceStores,
  StreamEvent,
} from '@toolscript/core/protocol';
import { openEventLog, openStores } from '#service/stores/index.js';
import { newFolder } from '@toolscript/testkit/folder';

/** A call of some store; its numbers refer to few names, so calls collide. */
interface Step {
  readonly name: string;
  readonly numbers: readonly number[];
}

interface Opened extends ServiceStores {
  readonly log: EventLog;
  readonly clock: { now: number };
  /** By group and run, as the last `receive` gave them. */
  readonly deliveries: Map<string, Delivery>;
}

type Action = (stores: Opened, numbers: readonly number[]) => Promise<unknown>;

const DOCUMENT_LIMITS = { documents: 2, versions: 2, totalBytes: 30, bytes: 12, changes: 3 };

const GROUPS = ['one', 'two'];
const pick = <Item>(items: readonly Item[], number = 0): Item => items[number % items.length]!;
const runId = (number = 0) => `run_${number % 4}`;
const threadId = (number = 0) => `thr_${number % 3}`;
const approvalId = (number = 0) => `apr_${number % 4}`;
const fence = (numbers: readonly number[]) => ({ runId: runId(numbers[0]), epoch: (numbers[1] ?? 0) % 4 });
const maybe = <Members extends object>(number: number | undefined, members: Members): Partial<Members> =>
  (number ?? 0) % 2 === 0 ? members : {};

function events(numbers: readonly number[]): StreamEvent[] {
  const [run = 0, first = 0, count = 0, last = 0] = numbers;
  const id = runId(run);
  return Array.from({ length: 1 + (count % 3) }, (_, index) => {
    const seq = (first % 5) + index;
    const isLast = last % 5 === 0 && index === count % 3;
    const text = { type: 'item_delta', item_id: 'i', delta: `${seq}${last % 7 === 0 ? ' other' : ''}` } as const;
    const payload = isLast ? ({ type: 'response_done', status: 'completed' } as const) : text;
    const names = { event_id: `evt_${seq}`, run_id: id, thread_id: threadId(run), turn_id: `turn_${run % 4}` };
    return { ...names, seq, timestamp: 0, payload };
  });
}

function approvals([, , first = 0, second = 0]: readonly number[], { now }: { now: number }) {
  return [...new Set([approvalId(first), approvalId(second)])].map((id) => ({
    request: {
      ...maybe(second, { expiresAt: now + 50 * (first % 3) }),
      approvalId: id,
      callId: id,
      tool: 'pay',
      input: { id },
      inputJson: '{}',
      effect: 'write' as const,
      rendered: id,
      plan: [],
      covers: [],
      digest: 'd',
      planned: false,
      createdAt: 1,
    },
  }));
}

function place(numbers: readonly number[]): DocumentPlace {
  const [id = 0, kind = 0, name = 0] = numbers;
  const scope = pick<DocumentScope>(
    [
      { kind: 'thread', id: threadId(id) },
      { kind: 'principal', id: 'ada' },
    ],
    kind,
  );
  return { scope, kind: 'file', name: pick(['a', 'b\0', 'a/c', '\ud83d'], name) };
}

const STATES = ['completed', 'failed', 'cancelled', 'incomplete'] as const;

const ACTIONS: Readonly<Record<string, Action>> = {
  createThread: ({ threads }, [thread, workspace]) =>
    threads.create({
      principal: 'ada',
      threadId: threadId(thread),
      title: `Title ${thread}`,
      workspace: `${workspace! % 2}`,
    }),
  createRun: ({ runs }, [run = 0, thread, key, claim = 0]) =>
    runs.create({
      principal: pick(['ada', 'ada', 'ada', 'bob'], claim),
      thread: claim % 3 === 0 ? { create: { threadId: threadId(thread) } } : { threadId: threadId(thread) },
      input: [{ type: 'message', id: 'i', role: 'user', content: `message ${run}` }],
      runId: runId(run),
      turnId: `turn_${run % 4}`,
      ...maybe(key, { idempotencyKey: `key ${key! % 3}` }),
      ...maybe(claim, { claim: { owner: 'a', leaseMs: 100 } }),
    }),
  branch: async ({ threads }, [from, turn = 0, , known = 0]) => {
    const { turns } = await threads.readItems(threadId(from));
    const turnId = known % 4 === 0 || turns.length === 0 ? `turn_${turn % 4}` : pick(turns, turn).turnId;
    return threads.create({ principal: 'ada', branchOf: { threadId: threadId(from), turnId } });
  },
  claim: ({ runs }, [run, workspace, which = 0]) =>
    runs.claim({
      owner: 'b',
      leaseMs: 100,
      ...maybe(which, { workspaces: [`${workspace! % 2}`, ''] }),
      ...(which % 3 === 0 ? { runId: runId(run) } : {}),
    }),
  renew: ({ runs }, numbers) => runs.renew(fence(numbers), 100),
  release: ({ runs }, numbers) => runs.release(fence(numbers)),
  suspend: ({ runs, clock }, numbers) => runs.suspend(fence(numbers), approvals(numbers, clock)),
  finish: ({ runs }, numbers) => runs.finish(fence(numbers), { state: pick(STATES, numbers[2]) }),
  cancel: ({ runs }, [run]) => runs.requestCancel(runId(run)),
  decide: ({ threads }, [approval, decision, by]) =>
    threads.decide(approvalId(approval), pick(['approve', 'deny'] as const, decision), `person ${by}`),
  expire: ({ threads }) => threads.expireApprovals(),
  rename: ({ threads }, [thread, title]) => threads.rename(threadId(thread), `Renamed ${title}`),
  instruct: ({ threads }, numbers) =>
    threads.saveInstructions(threadId(numbers[2]), { agentId: `agent ${numbers[1]}` }, fence(numbers)),
  append: ({ threads }, numbers) => threads.append(events(numbers), maybe(numbers[4], { epoch: numbers[4]! % 4 })),
  deleteThread: ({ threads }, [thread, really = 0]) =>
    really % 4 === 0 ? threads.delete(threadId(thread)) : threads.get(threadId(thread)),
  document: async ({ documents, clock }, numbers) => {
    const [, , , text = 0, which = 0] = numbers;
    // A store may delete an expired document before, when it meets one.
    if (which % 8 === 0) return documents.deleteExpired().then(() => 'deleted');
    const change = {
      ...place(numbers),
      ...(which % 3 === 0 ? { ifVersion: text % 3 } : {}),
      ...(text % 5 === 0 ? { idempotencyKey: `key ${which % 3}` } : {}),
      ...(text % 7 === 0 ? { fence: fence(numbers) } : {}),
    };
    if (which % 8 === 1) return documents.delete(change);
    if (which % 8 === 2) return documents.read(place(numbers), pick([undefined, 1, 2], text));
    return documents.save({
      ...change,
      text: 'x'.repeat(text % 16),
      ...maybe(which, { expiresAt: clock.now + 50 * (text % 4) }),
    });
  },
  pass: async ({ clock }, [time = 0]) => (clock.now += pick([10, 60, 150, -30, -1_000], time)),
  open: ({ log }, numbers) => log.open(runId(numbers[0]), (numbers[1] ?? 0) % 4),
  publish: ({ log }, numbers) => log.publish(numbers[4]! % 3, events(numbers)),
  receive: async ({ log, deliveries }, [group, limit = 0]) => {
    const options = { group: pick(GROUPS, group), consumer: 'c', leaseMs: 100, limit: 1 + (limit % 3) };
    const delivery = await log.receive(options);
    if (delivery !== undefined) deliveries.set(`${delivery.group} ${delivery.runId}`, delivery);
    return delivery && { ...delivery, token: 0 };
  },
  acknowledge: async ({ log, deliveries }, [group, run]) => {
    const delivery = deliveries.get(`${pick(GROUPS, group)} ${runId(run)}`);
    return delivery && log.acknowledge(delivery);
  },
  reject: async ({ log, deliveries }, [group, run]) => {
    const delivery = deliveries.get(`${pick(GROUPS, group)} ${runId(run)}`);
    return delivery && log.reject(delivery, 'no');
  },
  revive: ({ log }, [group, run]) => log.revive(pick(GROUPS, group), runId(run)),
  deleteLog: ({ log }, [run, really = 0, epoch = 0]) =>
    really % 4 === 0 ? log.delete(runId(run), pick([undefined, 0, 1, 2], epoch)) : log.read(runId(run)),
};

/** Everything that can be read. */
async function stateOf({ threads, runs, documents, log }: Opened): Promise<unknown> {
  const all = [0, 1, 2, 3];
  return {
    threads: (await threads.list()).threads,
    found: (await threads.list({ text: 'MESSAGE 1', principal: 'ada', limit: 1 })).threads,
    runs: (await runs.list()).runs,
    approvals: (await threads.listApprovals()).approvals,
    events: await Promise.all(all.map((number) => threads.readEvents(runId(number)))),
    items: await Promise.all(all.map((number) => threads.readItems(threadId(number)))),
    instructions: await Promise.all(all.map((number) => threads.instructions(threadId(number)))),
    documents: await Promise.all(
      all.map((number) => documents.list({ scope: { kind: 'thread', id: threadId(number) }, kind: 'file' })),
    ),
    logs: await Promise.all(all.map((number) => log.read(runId(number)))),
    dead: await Promise.all(GROUPS.map((group) => log.deadLetters({ group }))),
  };
}

/** Each store generates the ids of branches and of their copies; they are compared by their first position. */
class GeneratedIds {
  readonly #known = new Map<string, number>();

  named(value: unknown): unknown {
    const text = JSON.stringify({ value }).replaceAll(/(?:run|turn|thr)_[\da-f]{32}/gu, (id) => {
      this.#known.set(id, this.#known.get(id) ?? this.#known.size);
      return `generated ${this.#known.get(id)}`;
    });
    return (JSON.parse(text) as { value?: unknown }).value;
  }
}

/** Its value, or the name and text of its error. */
async function answerOf(stores: Opened, { name, numbers }: Step): Promise<unknown> {
  try {
    return { value: await ACTIONS[name]!(stores, numbers) };
  } catch (error) {
    return { error: (error as Error).name, message: (error as Error).message };
  }
}

async function openBoth(): Promise<Opened[]> {
  const clock = { now: 1_000_000 };
  const options = { now: () => clock.now };
  return Promise.all(
    ['memory:', `libsql:${newFolder()}/service.db`].map(async (url) => {
      const [stores, log] = await Promise.all([
        openStores(url, { ...options, documentLimits: DOCUMENT_LIMITS }),
        openEventLog(url, options),
      ]);
      return { ...stores, log, clock: url === 'memory:' ? clock : { now: 0 }, deliveries: new Map<string, Delivery>() };
    }),
  );
}

const step: fc.Arbitrary<Step> = fc.record({
  name: fc.constantFrom(
    ...Object.keys(ACTIONS),
    'createRun',
    'createRun',
    'claim',
    'claim',
    'publish',
    'append',
    'document',
    'document',
  ),
  numbers: fc.array(fc.nat(60), { minLength: 5, maxLength: 5 }),
});

/** Calls and errors without which the sequences would prove little. */
const KINDS = [
  'branch',
  'StaleEpochError',
  'EventOrderError',
  'NotFoundError',
  'IdempotencyConflictError',
  'ThreadBusyError',
  'DocumentConflictError',
  'DocumentLimitError',
  'document',
];

describe('memory and file', () => {
  it('give the same answers to the same calls', async () => {
    const seen = new Set<string>();
    const check = (numRuns: number) =>
      fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 60, maxLength: 150 }), async (steps) => {
          const [memory, file] = (await openBoth()) as [Opened, Opened];
          const [inMemory, inFile] = [new GeneratedIds(), new GeneratedIds()];
          try {
            for (const each of steps) {
              file.clock.now = memory.clock.now;
              const answer = await answerOf(memory, each);
              if (each.name !== 'pass')
                expect(inFile.named(await answerOf(file, each)), JSON.stringify(each)).toEqual(inMemory.named(answer));
              seen.add((answer as { error?: string }).error ?? each.name);
            }
            expect(inFile.named(await stateOf(file))).toEqual(inMemory.named(await stateOf(memory)));
          } finally {
            await Promise.all([memory, file].flatMap((each) => [each.close(), each.log.close()]));
          }
        }),
        { numRuns },
      );
    await check(Number(process.env.TOOLSCRIPT_STORE_SEQUENCES ?? 12));
    while (KINDS.some((kind) => !seen.has(kind))) await check(1);
  });
});
