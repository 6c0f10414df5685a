import { ConvexHttpClient } from 'convex/browser';
import { makeFunctionReference } from 'convex/server';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { foldResponse } from '@toolscript/core/history';
import type { OutputItem, StreamEvent } from '@toolscript/core/protocol';
import { openConvexProjection, type Projection } from '@toolscript/server';
import { RunCleaner, RunProjector } from '@toolscript/service';
import { memoryStore } from '@toolscript/core';
import { openTestServer } from '../support/test-server.js';
import { ConvexDeployment, SECRET } from './support/convex-deployment.js';
import { memoryEventLog, memoryStores } from '@toolscript/service/stores';
import { until } from '@toolscript/testkit/until';

let convex: ConvexDeployment;
let projection: Projection;

beforeEach(async () => {
  vi.stubEnv('TOOLSCRIPT_SECRET', SECRET);
  convex = await new ConvexDeployment().listen();
  projection = await openConvexProjection({ url: convex.url, secret: SECRET });
});

afterEach(async () => {
  await convex.close();
  vi.unstubAllEnvs();
});

/** Reads as a user's own program would. */
async function ask(name: string, args: object): Promise<unknown> {
  const client = new ConvexHttpClient(convex.url, { logger: false, skipConvexDeploymentUrlCheck: true });
  return client.query(makeFunctionReference<'query'>(`toolscript:${name}`), { secret: SECRET, ...args });
}

interface ProjectedRunRow {
  readonly runId: string;
  readonly status: string;
  readonly nextSeq: number;
  readonly items: number;
}

const runsOf = async (threadId: string) => (await ask('listRuns', { threadId })) as readonly ProjectedRunRow[];

async function itemsOf(runId: string): Promise<OutputItem[]> {
  const texts = (await ask('readItems', { runId, from: 0, limit: 1_000 })) as string[];
  return texts.map((text) => JSON.parse(text) as OutputItem);
}

/** A message that is written in pieces, as the events of one run. */
function messageEvents(runId: string, pieces: readonly string[]): StreamEvent[] {
  const id = `${runId}_m`;
  const content = pieces.join('');
  const payloads = [
    { type: 'response_start' },
    { type: 'item_start', item_id: id, item_type: 'message', initial_content: '' },
    ...pieces.map((delta) => ({ type: 'item_delta', item_id: id, delta })),
    {
      type: 'item_done',
      item_id: id,
      final_item: { id, type: 'message', role: 'assistant', content, origin: 'agent' },
    },
    { type: 'response_done', status: 'completed' },
  ];
  return payloads.map((payload, seq) => ({
    event_id: `${runId}_${seq}`,
    run_id: runId,
    thread_id: 'thr_1',
    turn_id: 'turn_1',
    seq,
    timestamp: 1_700_000_000_000 + seq,
    payload,
  })) as unknown as StreamEvent[];
}

/** A thread store that has the first events of a run. */
function storeOf(events: readonly StreamEvent[], state: { known: number }) {
  const { threads } = memoryStores();
  return {
    ...threads,
    readEvents: async (_runId: string, { from = 0 } = {}) => ({ events: events.slice(from, state.known) }),
  } as typeof threads;
}

describe('a projection to Convex', () => {
  it('has the items of the thread, while a run waits and after it was approved', async () => {
    const server = await openTestServer({ projection });
    try {
      const { body } = await server.call('POST', '/api/v2/submit', { prompt: 'look around, and approve' });
      const { runId, threadId } = body as { runId: string; threadId: string };
      await until(async () => (await runsOf(threadId))[0]?.status === 'suspended');
      const approvalId = await until(async () => {
        const { body: approvals } = await server.call('GET', '/api/v2/approvals');
        return approvals.data[0]?.approvalId as string | undefined;
      });
      expect((await server.call('POST', `/api/v2/approvals/${approvalId}`, 'approve')).status).toBe(200);
      await until(async () => (await runsOf(threadId))[0]?.status === 'completed');
      const thread = await server.call('GET', `/api/v2/threads/${threadId}?operations=full`);
      const items = await itemsOf(runId);
      expect((await runsOf(threadId))[0]!.items).toBe(items.length);
      expect(items.map(({ type }) => type)).toContain('script_execution_output');
      const shown = thread.body.items as { id: string; type: string }[];
      expect(items.map(({ id, type }) => ({ id, type }))).toEqual(shown.slice(1).map(({ id, type }) => ({ id, type })));
    } finally {
      await server.close();
    }
  });

  it('loses nothing of a run during which it does not answer', async () => {
    convex.failure = 503;
    const server = await openTestServer({ projection });
    try {
      const { body } = await server.call('POST', '/api/v2/submit', { prompt: 'look around' });
      const { runId, threadId } = body as { runId: string; threadId: string };
      await until(async () => {
        const run = await server.call('GET', `/api/v2/runs/${runId}`);
        return run.body.status === 'completed' ? true : undefined;
      });
      convex.failure = undefined;
      await until(async () => (await runsOf(threadId))[0]?.status === 'completed');
      expect(await itemsOf(runId)).not.toEqual([]);
    } finally {
      await server.close();
    }
  });

  it('is emptied with the thread, which stays if the projection does not answer', async () => {
    const server = await openTestServer({ projection });
    try {
      const { body } = await server.call('POST', '/api/v2/submit', { prompt: 'look around' });
      const { threadId } = body as { threadId: string };
      await until(async () => (await runsOf(threadId))[0]?.status === 'completed');
      convex.failure = 503;
      expect((await server.call('DELETE', `/api/v2/threads/${threadId}`)).status).toBe(503);
      convex.failure = undefined;
      expect((await server.call('GET', `/api/v2/threads/${threadId}`)).status).toBe(200);
      expect((await server.call('DELETE', `/api/v2/threads/${threadId}`)).status).toBe(204);
      expect(await convex.rows()).toEqual([0, 0]);
    } finally {
      await server.close();
    }
  });

  it('folds to the same items, however the events arrive, and whichever process writes them', async () => {
    let number = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ unit: 'grapheme', minLength: 1 }), { minLength: 1, maxLength: 6 }),
        fc.array(fc.record({ known: fc.nat(12), process: fc.nat(1) }), { maxLength: 8 }),
        async (pieces, writes) => {
          const runId = `run_${(number += 1)}`;
          const events = messageEvents(runId, pieces);
          const states = [{ known: 0 }, { known: 0 }];
          const projectors = states.map((state) => new RunProjector(storeOf(events, state), projection));
          for (const { known, process } of [...writes, { known: events.length, process: 0 }]) {
            const state = states[process]!;
            // A process keeps its events; a slower one may write an earlier state later.
            state.known = Math.max(state.known, Math.min(known, events.length));
            await projectors[process]!.project(runId);
          }
          expect(await projection.position(runId)).toBe(events.length);
          expect(await itemsOf(runId)).toEqual(foldResponse(events).output_items);
        },
      ),
      { numRuns: 25 },
    );
  });

  it('divides a large item, and joins it without a change', async () => {
    const text = `${'a'.repeat(249_950)}${'😀'.repeat(300_000)}`;
    const events = messageEvents('run_large', [text]);
    await new RunProjector(storeOf(events, { known: events.length }), projection).project('run_large');
    expect(await itemsOf('run_large')).toEqual(foldResponse(events).output_items);
    await new RunProjector(storeOf(events, { known: events.length }), projection).delete('run_large');
    expect(await convex.rows()).toEqual([0, 0]);
  });

  it('keeps the log of an ended run until it has the run', async () => {
    const stores = memoryStores();
    const log = memoryEventLog();
    const thread = await stores.threads.create({ principal: 'ada' });
    const { run } = await stores.runs.create({
      principal: 'ada',
      thread: { threadId: thread.threadId },
      input: [{ id: 'm', type: 'message', role: 'user', content: 'go', origin: 'user' }],
    });
    const claimed = (await stores.runs.claim({ owner: 'me', leaseMs: 10_000 }))!.run;
    const events = messageEvents(run.runId, ['x']).map((event) => ({
      ...event,
      thread_id: run.threadId,
      turn_id: run.turnId,
    }));
    await log.open(run.runId, claimed.epoch);
    await log.publish(claimed.epoch, events);
    await stores.threads.append(events, { epoch: claimed.epoch });
    await stores.runs.finish({ runId: run.runId, epoch: claimed.epoch }, { state: 'completed' });
    const cleaner = new RunCleaner({
      stores,
      log,
      scripts: memoryStore(),
      projection,
      keepMs: 0,
      onFault: (error) => expect.unreachable(String(error)),
    });
    await cleaner.clean();
    expect((await log.list()).runs).toHaveLength(1);
    await new RunProjector(stores.threads, projection).project(run.runId);
    await cleaner.clean();
    expect((await log.list()).runs).toEqual([]);
  });
});

describe('a deployment that cannot be used is reported in one sentence', () => {
  it('for a secret that differs, and for none', async () => {
    const other = await openConvexProjection({ url: convex.url, secret: 'x'.repeat(40) });
    await expect(other.position('run_1')).rejects.toThrow(/refused the secret\. Use the value of: npx convex env get/u);
    vi.stubEnv('TOOLSCRIPT_SECRET', '');
    await expect(projection.position('run_1')).rejects.toThrow(/has no secret\. Set one: npx convex env set/u);
  });

  it('for one that does not answer, and never with the secret', async () => {
    await convex.close();
    const error = await projection.position('run_1').catch((reason: unknown) => reason as Error);
    expect(error).toMatchObject({ name: 'StoreUnavailableError', message: expect.stringContaining('does not answer') });
    expect(String((error as Error).stack)).not.toContain(SECRET);
  });

  it('for a malformed URL, an unencrypted one, and a short secret', async () => {
    for (const url of ['', 'happy-otter', 'http://convex.example.com', 'ftp://127.0.0.1'])
      await expect(openConvexProjection({ url, secret: SECRET })).rejects.toThrow(/Use its Deployment URL/u);
    await expect(openConvexProjection({ url: convex.url, secret: 'short' })).rejects.toThrow(/at least 32 characters/u);
  });
});
