import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ownIdentity } from '@toolscript/core/internal';
import { EventEnvelopes } from '@toolscript/core/ports';
import type { EventPayload } from '@toolscript/core/protocol';
import { expect, it } from 'vitest';
import { LOCAL_PRINCIPAL, streamRun } from '@toolscript/service';
import { openStores } from '@toolscript/service/stores';
import { openTestServer } from '../support/test-server.js';

const { instance: _instance, ...own } = ownIdentity();

/** A run whose process died during a script, when nothing of the script was stored. */
async function leaveRun(folder: string, owner: object): Promise<string> {
  const stores = await openStores(`libsql:${join(folder, 'toolscript.db')}`);
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
  await stores.close();
  return run.runId;
}

it.skipIf(process.platform !== 'linux').each([
  ['runs again where the machine has not restarted since', { startTime: '1' }, { status: 'completed', result: 42 }],
  ['does not run again where it has', { startTime: '1', bootId: 'another boot' }, { stands_in: true }],
])('a script that had only read when its process died %s', async (_name, owner, output) => {
  const folder = mkdtempSync(join(tmpdir(), 'toolscript-server-'));
  const runId = await leaveRun(folder, owner);
  const server = await openTestServer({ folder });
  const outputs: unknown[] = [];
  const { signal } = new AbortController();
  for await (const { payload } of streamRun(server.stores, server.events, runId, { from: 0, signal }))
    if (payload.type === 'item_done' && payload.final_item.type === 'script_execution_output')
      outputs.push(payload.final_item);
  await server.close();
  expect(outputs[0]).toMatchObject({ call_id: 'call_1', ...output });
});
