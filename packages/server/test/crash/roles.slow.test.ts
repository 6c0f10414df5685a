import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { foldResponse } from '@toolscript/core/history';
import type { StreamEvent } from '@toolscript/core/protocol';
import { describe, expect, it } from 'vitest';
import type { ServerRole } from '@toolscript/server';
import { openStores } from '@toolscript/service/stores';
import { allEvents } from '@toolscript/service';
import { describeWithPostgres, newSchemaUrl } from '../../../service/test/stores/postgres/support/test-postgres.js';
import { describeWithOwnRedis, OwnRedis } from '../../../service/test/stores/redis/support/test-redis.js';
import { effectsIn } from '../support/one-script-agent.js';
import { startServer, type ServerProcess } from './support/server-process.js';
import { until } from '@toolscript/testkit/until';
import { newFolder } from '@toolscript/testkit/folder';

const scripts = (...codes: string[]) => ({
  prompt: JSON.stringify({ steps: codes.map((code) => ({ type: 'script', code })) }),
  agentId: 'caller',
});

async function submit({ client }: ServerProcess, body: object): Promise<{ runId: string; threadId: string }> {
  const answer = await client!.call('POST', '/api/v2/submit', body);
  expect(answer.status).toBe(202);
  return answer.body;
}

const isStart = (tool: string) => (event: StreamEvent) =>
  event.payload.type === 'tool_call_start' && event.payload.tool === tool;

/** Decides the approval when there is one. */
async function approve({ client }: ServerProcess): Promise<void> {
  const { approvalId } = await until(async () => {
    const { body } = await client!.call('GET', '/api/v2/approvals');
    return body.data[0] as { approvalId: string } | undefined;
  });
  expect((await client!.call('POST', `/api/v2/approvals/${approvalId}`, 'approve')).status).toBe(200);
}

/** The thread contains exactly the events that its client saw. */
async function expectStored(store: string, runId: string, events: readonly StreamEvent[]): Promise<void> {
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_event, index) => index));
  const stores = await openStores(store);
  try {
    expect(await allEvents(stores, runId)).toEqual(events);
    const { threadId } = (await stores.runs.get(runId))!;
    const { turns } = await stores.threads.readItems(threadId);
    expect(turns.find((turn) => turn.runId === runId)?.items.slice(1)).toEqual(foldResponse(events).output_items);
  } finally {
    await stores.close();
  }
}

describe('processes with one role each', () => {
  describeWithPostgres('over PostgreSQL', () =>
    describeWithOwnRedis('and Redis', () => {
      it('submit, stream, approve and finish a run, over the kill of its worker', async () => {
        const folder = newFolder();
        const redis = await OwnRedis.start('--appendonly', 'yes');
        const [store, events] = [await newSchemaUrl(), redis.url()];
        const start = (...roles: ServerRole[]) => startServer(folder, { store, events, roles });
        const [api, worker, persistence] = await Promise.all([start('api'), start('worker'), start('persistence')]);
        const { runId } = await submit(
          api,
          scripts(
            "await tools.mark({ tag: 'a' }); await tools.wait({ tag: 'w' }); return await tools.mark({ tag: 'b' });",
            "return await tools.note({ tag: 'n' });",
          ),
        );
        const following = api.client!.follow(runId);
        await api.client!.follow(runId, { isLast: isStart('wait') });
        worker.child.kill('SIGKILL');
        await worker.ended;
        writeFileSync(join(folder, 'go'), '');
        await start('worker');
        await approve(api);
        const seen = await following;
        expect(seen.at(-1)!.payload).toMatchObject({ type: 'response_done', status: 'completed' });
        expect(effectsIn(join(folder, 'effects'))).toEqual(['a', 'b', 'n']);
        await expectStored(store, runId, seen);
        for (const [path, status] of [
          ['/healthz', 200],
          ['/readyz', 200],
          ['/api/v2/threads', 404],
        ] as const)
          expect((await persistence.client!.call('GET', path)).status).toBe(status);
      });
    }),
  );
});
