import { writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { join } from 'node:path';
import { foldResponse } from '@toolscript/core/history';
import type { StreamEvent } from '@toolscript/core/protocol';
import { describe, expect, it } from 'vitest';
import { openStores } from '@toolscript/service/stores';
import {
  administrator,
  describeWithPostgres,
  newSchemaUrl,
  schemaOf,
} from '../../../service/test/stores/postgres/support/test-postgres.js';
import { effectsIn } from '../support/one-script-agent.js';
import { startServer, type ServerProcess } from './support/server-process.js';
import { until } from '@toolscript/testkit/until';
import { newFolder } from '@toolscript/testkit/folder';

async function submit({ client }: ServerProcess, code: string): Promise<string> {
  const body = { prompt: JSON.stringify({ steps: [{ type: 'script', code }] }), agentId: 'caller' };
  const answer = await client!.call('POST', '/api/v2/submit', body);
  expect(answer.status).toBe(202);
  return answer.body.runId;
}

const starts = (tool: string) => (event: StreamEvent) =>
  event.payload.type === 'tool_call_start' && event.payload.tool === tool;

const fileIn = async (folder: string) => `libsql:${join(folder, 'toolscript.db')}`;

describe('two servers over the same file', () => serversShare(fileIn));
describeWithPostgres('two servers over the same PostgreSQL', () => serversShare(newSchemaUrl));

function serversShare(urlFor: (folder: string) => Promise<string>): void {
  it('share the runs, and none is executed twice', async () => {
    const folder = newFolder();
    const store = await urlFor(folder);
    const [one, two] = await Promise.all([startServer(folder, { store }), startServer(folder, { store })]);
    const tags = Array.from({ length: 24 }, (_, index) => `t${index}`);
    const runs = await Promise.all(
      tags.map((tag, index) =>
        submit(index % 2 === 0 ? one : two, `await sleep(20); return await tools.mark({ tag: '${tag}' });`),
      ),
    );
    // Each client follows its run at the other server.
    const all = await Promise.all(runs.map((runId, index) => (index % 2 === 0 ? two : one).client!.follow(runId)));
    for (const events of all) {
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_event, index) => index));
      expect(events.at(-1)!.payload).toMatchObject({ type: 'response_done', status: 'completed' });
    }
    expect(effectsIn(join(folder, 'effects')).toSorted()).toEqual(tags.toSorted());
    const stores = await openStores(store);
    const claimed = await stores.runs.list({ limit: 100 });
    expect(new Set(claimed.runs.map(({ epoch }) => epoch))).toEqual(new Set([1]));
    await stores.close();
  });

  it('stream, decide and cancel each other’s runs', async () => {
    const folder = newFolder();
    const store = await urlFor(folder);
    const front = await startServer(folder, { workers: 0, store });
    await startServer(folder, { store });
    const waiting = await submit(front, "return await tools.note({ tag: 'n' });");
    const following = front.client!.follow(waiting);
    const approval = await until(async () => {
      const { body } = await front.client!.call('GET', '/api/v2/approvals');
      return body.data[0] as { approvalId: string } | undefined;
    });
    expect((await front.client!.call('POST', `/api/v2/approvals/${approval.approvalId}`, 'approve')).status).toBe(200);
    const events = await following;
    expect(foldResponse(events).output_items.find(({ type }) => type === 'script_execution_output')).toMatchObject({
      result: { tag: 'n' },
    });
    const hanging = await submit(front, "await tools.mark({ tag: 'm' }); return await tools.hang({ tag: 'h' });");
    await front.client!.follow(hanging, { isLast: starts('hang') });
    expect((await front.client!.call('POST', `/api/v2/runs/${hanging}/cancel`)).status).toBe(202);
    const cancelled = await front.client!.follow(hanging);
    expect(cancelled.at(-1)!.payload).toMatchObject({ type: 'response_done', status: 'cancelled' });
    await until(async () => {
      const { body } = await front.client!.call('GET', `/api/v2/runs/${hanging}`);
      return body.status === 'cancelled' ? true : undefined;
    });
  });

  it('continue the runs of each other’s dead process, while a client streams from the other', async () => {
    const folder = newFolder();
    const store = await urlFor(folder);
    const [front, back] = [await startServer(folder, { workers: 0, store }), await startServer(folder, { store })];
    const runId = await submit(
      front,
      "await tools.mark({ tag: 'a' }); await tools.wait({ tag: 'w' }); return await tools.mark({ tag: 'b' });",
    );
    const following = front.client!.follow(runId);
    await front.client!.follow(runId, { isLast: starts('wait') });
    back.child.kill('SIGKILL');
    await back.ended;
    writeFileSync(join(folder, 'go'), '');
    await startServer(folder, { store });
    const events = await following;
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_event, index) => index));
    expect(events.at(-1)!.payload).toMatchObject({ type: 'response_done', status: 'completed' });
    expect(effectsIn(join(folder, 'effects'))).toEqual(['a', 'b']);
  });
}

describeWithPostgres('servers over PostgreSQL', () => {
  it('continue a run of a machine that is gone, when its lease ends', async () => {
    const folder = newFolder();
    const store = await newSchemaUrl();
    const back = await startServer(folder, { store });
    const runId = await submit(back, `await tools.mark({ tag: 'a' }); ${WAIT} return await tools.mark({ tag: 'b' });`);
    await back.client!.follow(runId, { isLast: starts('wait') });
    back.child.kill('SIGKILL');
    await back.ended;
    // As on another machine: no process can know whether its process is alive.
    await administrator.query(
      `UPDATE ${schemaOf(store)}.runs SET owner = '"elsewhere"', lease_ms = 1000, lease_expires_at = $1`,
      [Date.now() + 1000],
    );
    writeFileSync(join(folder, 'go'), '');
    const front = await startServer(folder, { store });
    const events = await front.client!.follow(runId);
    expect(events.at(-1)!.payload).toMatchObject({ type: 'response_done', status: 'completed' });
    expect(effectsIn(join(folder, 'effects'))).toEqual(['a', 'b']);
  });

  it('lose and repeat nothing when their connections end again and again', async () => {
    const folder = newFolder();
    const store = await newSchemaUrl();
    const server = await startServer(folder, { store });
    const tags = Array.from({ length: 8 }, (_, index) => `t${index}`);
    const runs = await Promise.all(tags.map((tag) => submit(server, marks(tag))));
    const following = Promise.all(runs.map((runId) => server.client!.follow(runId)));
    for (let round = 0; round < 10; round++) {
      await until(async () => (await endConnections(schemaOf(store))) > 0);
      await delay(100);
    }
    // Until now, no run could end.
    writeFileSync(join(folder, 'go'), '');
    for (const events of await following) {
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_event, index) => index));
      expect(events.at(-1)!.payload).toMatchObject({ type: 'response_done', status: 'completed' });
    }
    const expected = tags.flatMap((tag) => Array.from({ length: 10 }, (_, index) => `${tag}.${index}`));
    expect(effectsIn(join(folder, 'effects')).toSorted()).toEqual(expected.toSorted());
  });
});

const WAIT = "await tools.wait({ tag: 'w' });";

const marks = (tag: string) =>
  `for (let i = 0; i < 10; i++) { await tools.mark({ tag: '${tag}.' + i }); await sleep(50); } ${WAIT}`;

/** Ends every connection of the servers of a schema. */
async function endConnections(schema: string): Promise<number> {
  const { rowCount } = await administrator.query(
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1',
    [schema],
  );
  return rowCount ?? 0;
}
