import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { foldResponse } from '@toolscript/core/history';
import type { StreamEvent } from '@toolscript/core/protocol';
import { describe, expect, it } from 'vitest';
import { effectsIn } from '../support/one-script-agent.js';
import { startServer, type ServerProcess } from './support/server-process.js';
import { storedRuns } from './support/stored-runs.js';
import { until } from '@toolscript/testkit/until';
import { newFolder } from '@toolscript/testkit/folder';

const DRAIN = { drainMs: 200 };

async function submit({ client }: ServerProcess, code: string): Promise<string> {
  const body = { prompt: JSON.stringify({ steps: [{ type: 'script', code }] }), agentId: 'caller' };
  const answer = await client!.call('POST', '/api/v2/submit', body);
  expect(answer.status).toBe(202);
  return answer.body.runId;
}

/** Ends the server as an operator does, and returns the events that a client of the run had received by then. */
async function stopDuring(server: ServerProcess, runId: string, isReached: (event: StreamEvent) => boolean) {
  const seen: StreamEvent[] = [];
  let stop: (() => void) | undefined;
  const reached = new Promise<void>((resolve) => (stop = resolve));
  const isLast = (event: StreamEvent) => {
    seen.push(event);
    if (isReached(event)) stop!();
    return false;
  };
  const following = server.client!.follow(runId, { isLast }).catch(() => {});
  await reached;
  server.child.kill('SIGTERM');
  expect(await server.ended, server.log()).toBe(null);
  await following;
  return seen;
}

async function storedRun(folder: string, runId: string) {
  return (await storedRuns(`libsql:${join(folder, 'toolscript.db')}`, [runId]))[0]!;
}

const starts = (tool: string) => (event: StreamEvent) =>
  event.payload.type === 'tool_call_start' && event.payload.tool === tool;

function outputsOf(events: readonly StreamEvent[]) {
  return foldResponse(events).output_items.filter(({ type }) => type === 'script_execution_output');
}

describe('a server that receives a signal to end', () => {
  it('lets the next server restart a script that has only read', async () => {
    const folder = newFolder();
    const first = await startServer(folder, DRAIN);
    const runId = await submit(first, "console.log('begun'); await tools.wait({ tag: 'w' }); return 'whole';");
    const seen = await stopDuring(first, runId, ({ payload }) => payload.type === 'script_log');
    const { run, events } = await storedRun(folder, runId);
    expect(run).toMatchObject({ state: 'queued', reason: 'interrupted' });
    expect(events.slice(0, seen.length)).toEqual(seen);
    writeFileSync(join(folder, 'go'), '');
    const second = await startServer(folder);
    const all = await second.client!.follow(runId);
    expect(outputsOf(all)).toMatchObject([{ status: 'completed', result: 'whole' }]);
    expect(all.at(-1)!.payload).toMatchObject({ type: 'response_done', status: 'completed' });
  });

  it('returns a running run to the queue, and the next server continues it there', async () => {
    const folder = newFolder();
    const first = await startServer(folder, DRAIN);
    const runId = await submit(
      first,
      "await tools.mark({ tag: 'a' }); await tools.wait({ tag: 'w' }); return await tools.mark({ tag: 'b' });",
    );
    const seen = await stopDuring(first, runId, starts('wait'));
    expect(seen.filter(({ payload }) => payload.type === 'response_done')).toEqual([]);
    const { run, events } = await storedRun(folder, runId);
    expect(run).toMatchObject({ state: 'queued', reason: 'interrupted' });
    expect(events).toEqual(seen);
    writeFileSync(join(folder, 'go'), '');
    const second = await startServer(folder);
    const all = await second.client!.follow(runId);
    expect(all.slice(0, seen.length)).toEqual(seen);
    expect(all.at(-1)!.payload).toMatchObject({ type: 'response_done', status: 'completed' });
    expect(outputsOf(all)).toMatchObject([
      { result: { tag: 'b' }, operations: [{ status: 'completed' }, { status: 'completed' }, { status: 'completed' }] },
    ]);
    expect(effectsIn(join(folder, 'effects'))).toEqual(['a', 'b']);
  });

  it('does not wait for a tool that never ends: its effect is unknown, and is not repeated', async () => {
    const folder = newFolder();
    const first = await startServer(folder, DRAIN);
    const runId = await submit(
      first,
      "const how = await tools.hang({ tag: 'h' }).catch((error) => error.name); await tools.mark({ tag: 'b' }); return how;",
    );
    const seen = await stopDuring(first, runId, starts('hang'));
    expect(seen.filter(({ payload }) => payload.type === 'response_done')).toEqual([]);
    expect((await storedRun(folder, runId)).run.state).toBe('queued');
    const second = await startServer(folder);
    const all = await second.client!.follow(runId);
    expect(all.at(-1)!.payload).toMatchObject({ type: 'response_done', status: 'completed' });
    expect(outputsOf(all)).toMatchObject([
      { operations: [{ tool: 'hang', status: 'unknown' }, { status: 'completed' }] },
    ]);
    expect(effectsIn(join(folder, 'effects'))).toEqual(['h', 'b']);
  });

  it('finishes runs that end soon', async () => {
    const folder = newFolder();
    const server = await startServer(folder, { drainMs: 60_000 });
    const runId = await submit(server, "await tools.wait({ tag: 'w' }); return await tools.mark({ tag: 'b' });");
    const stopped = stopDuring(server, runId, starts('wait'));
    await until(async () => (await server.client!.call('GET', '/readyz')).status === 503);
    const refused = await server.client!.call('POST', '/api/v2/submit', { prompt: '{}' });
    expect(refused.status).toBe(503);
    writeFileSync(join(folder, 'go'), '');
    const seen = await stopped;
    expect(seen.at(-1)!.payload).toMatchObject({ type: 'response_done', status: 'completed' });
    expect((await storedRun(folder, runId)).run.state).toBe('completed');
  });

  it('does not change a waiting run', async () => {
    const folder = newFolder();
    const first = await startServer(folder, DRAIN);
    const runId = await submit(first, "return await tools.note({ tag: 'n' });");
    await stopDuring(first, runId, ({ payload }) => payload.type === 'response_done');
    const { run, events } = await storedRun(folder, runId);
    expect(run).toMatchObject({ state: 'suspended', epoch: 1 });
    const second = await startServer(folder);
    const { body } = await second.client!.call('GET', '/api/v2/approvals');
    expect((await second.client!.call('POST', `/api/v2/approvals/${body.data[0].approvalId}`, 'approve')).status).toBe(
      200,
    );
    const all = await second.client!.follow(runId);
    expect(all.slice(0, events.length)).toEqual(events);
    expect(outputsOf(all)).toMatchObject([{ result: { tag: 'n' } }]);
  });
});
