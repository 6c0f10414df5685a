import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { foldResponse } from '@toolscript/core/history';
import type { StreamEvent } from '@toolscript/core/protocol';
import { describe, expect, it } from 'vitest';
import { openStores } from '#server/stores/index.js';
import { newFolder } from '../stores/support/new-folder.js';
import { effectsIn } from '../support/one-script-agent.js';
import { eventually } from '../support/test-server.js';
import { startServer, type ServerProcess } from './support/server-process.js';

async function submit({ client }: ServerProcess, code: string): Promise<string> {
  const body = { prompt: JSON.stringify({ steps: [{ type: 'script', code }] }), agentId: 'caller' };
  const answer = await client!.call('POST', '/api/v2/submit', body);
  expect(answer.status).toBe(202);
  return answer.body.runId;
}

const starts = (tool: string) => (event: StreamEvent) =>
  event.payload.type === 'tool_call_start' && event.payload.tool === tool;

describe('two servers over the same data', () => {
  it('share the runs, and none is executed twice', async () => {
    const folder = newFolder();
    const [one, two] = await Promise.all([startServer(folder), startServer(folder)]);
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
    const stores = await openStores(`libsql:${join(folder, 'toolscript.db')}`);
    const claimed = await stores.runs.list({ limit: 100 });
    expect(new Set(claimed.runs.map(({ epoch }) => epoch))).toEqual(new Set([1]));
    await stores.close();
  });

  it('stream, decide and cancel each other’s runs', async () => {
    const folder = newFolder();
    const front = await startServer(folder, { workers: 0 });
    await startServer(folder);
    const waiting = await submit(front, "return await tools.note({ tag: 'n' });");
    const following = front.client!.follow(waiting);
    const approval = await eventually(async () => {
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
    await eventually(async () => {
      const { body } = await front.client!.call('GET', `/api/v2/runs/${hanging}`);
      return body.status === 'cancelled' ? true : undefined;
    });
  });

  it('continue the runs of each other’s dead process, while a client streams from the other', async () => {
    const folder = newFolder();
    const [front, back] = [await startServer(folder, { workers: 0 }), await startServer(folder)];
    const runId = await submit(
      front,
      "await tools.mark({ tag: 'a' }); await tools.wait({ tag: 'w' }); return await tools.mark({ tag: 'b' });",
    );
    const following = front.client!.follow(runId);
    await front.client!.follow(runId, { isLast: starts('wait') });
    back.child.kill('SIGKILL');
    await back.ended;
    writeFileSync(join(folder, 'go'), '');
    await startServer(folder);
    const events = await following;
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_event, index) => index));
    expect(events.at(-1)!.payload).toMatchObject({ type: 'response_done', status: 'completed' });
    expect(effectsIn(join(folder, 'effects'))).toEqual(['a', 'b']);
  });
});
