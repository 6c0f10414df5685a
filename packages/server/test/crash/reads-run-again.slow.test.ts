import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ownIdentity } from '@toolscript/core/internal';
import { EventEnvelopes } from '@toolscript/core/ports';
import type { EventPayload, ServiceStores } from '@toolscript/core/protocol';
import { expect, it } from 'vitest';
import { LOCAL_PRINCIPAL, streamRun } from '@toolscript/service';
import { openDatabase, openStores } from '@toolscript/service/stores';
import { describeWithPostgres, newSchemaUrl } from '../../../service/test/stores/postgres/support/test-postgres.js';
import { openTestServer, type TestServer } from '../support/test-server.js';

const { instance: _instance, ...own } = ownIdentity();

/** A run whose process died during a script, when nothing of the script was stored. */
async function leaveRun(stores: ServiceStores, owner: object, isReleased = false): Promise<string> {
  const input = [{ type: 'message' as const, id: 'item_1', role: 'user' as const, content: 'Hello' }];
  const claim = { owner: JSON.stringify({ ...own, instance: 'other', ...owner }), leaseMs: 1 };
  const thread = { create: { title: 'Hello' } };
  const { run } = await stores.runs.create({ principal: LOCAL_PRINCIPAL, thread, input, claim });
  const envelopes = new EventEnvelopes(run);
  const script = { language: 'ts', format: 'tool', source_code: 'return 6 * 7', source_sha256: 'x' } as const;
  const names = { id: 'item_2', call_id: 'call_1', script_id: 'scr_1', status: 'executing' } as const;
  const payloads: EventPayload[] = [
    { type: 'response_start', input },
    { type: 'item_start', item_id: 'item_2', item_type: 'script_execution' },
    { type: 'item_done', item_id: 'item_2', final_item: { type: 'script_execution', ...script, ...names } },
  ];
  await stores.threads.append(
    payloads.map((payload) => envelopes.next(payload)),
    { epoch: run.epoch },
  );
  if (isReleased) await stores.runs.release({ runId: run.runId, epoch: run.epoch });
  return run.runId;
}

/** The output of the script, from a server that recovers the run. */
async function recoveredOutput(server: TestServer, runId: string): Promise<unknown> {
  const outputs: unknown[] = [];
  const { signal } = new AbortController();
  for await (const { payload } of streamRun(server.stores, server.events, runId, { from: 0, signal }))
    if (payload.type === 'item_done' && payload.final_item.type === 'script_execution_output')
      outputs.push(payload.final_item);
  await server.close();
  return outputs[0];
}

it.skipIf(process.platform !== 'linux').each([
  ['runs again where the machine has not restarted since', {}, false, { status: 'completed', result: 42 }],
  ['runs again if a third process has released its run', {}, true, { status: 'completed', result: 42 }],
  ['does not run again where the machine has restarted', { bootId: 'another boot' }, false, { stands_in: true }],
])('a script that had only read when its process died %s', async (_name, owner, isReleased, output) => {
  const folder = mkdtempSync(join(tmpdir(), 'toolscript-server-'));
  const stores = await openStores(`libsql:${join(folder, 'toolscript.db')}`);
  const runId = await leaveRun(stores, { startTime: '1', ...owner }, isReleased);
  await stores.close();
  const server = await openTestServer({ folder });
  expect(await recoveredOutput(server, runId)).toMatchObject({ call_id: 'call_1', ...output });
});

describeWithPostgres('over PostgreSQL', () => {
  it('a script that had only read when its process died runs again on another machine', async () => {
    const database = await openDatabase(await newSchemaUrl());
    const { stores, log: events, scripts } = database;
    const runId = await leaveRun(stores, { startTime: '1', bootId: 'another boot', hostname: 'elsewhere' });
    const server = await openTestServer({ stores, events, scripts: scripts! });
    expect(await recoveredOutput({ ...server, stores, events }, runId)).toMatchObject({
      status: 'completed',
      result: 42,
    });
    await database.close();
  });
});
