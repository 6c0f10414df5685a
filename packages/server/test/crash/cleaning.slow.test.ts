import { join } from 'node:path';
import { listScripts, pruneScripts } from '@toolscript/core';
import type { StreamEvent } from '@toolscript/core/protocol';
import { describe, expect, it, onTestFinished } from 'vitest';
import { RunCleaner, streamRun } from '@toolscript/service';
import { oneScriptAgent } from '../support/one-script-agent.js';
import { openTestServer, type TestServer } from '../support/test-server.js';
import { until } from '@toolscript/testkit/until';
import { newFolder } from '@toolscript/testkit/folder';

async function open(options: { approvalTimeoutMs?: number } = {}) {
  const folder = newFolder();
  const server = await openTestServer({
    folder,
    agents: (parts) => [oneScriptAgent({ ...parts, limits: options }, join(folder, 'effects'))],
  });
  onTestFinished(() => server.close({ keepsData: true }));
  const submit = async (prompt: string) => {
    const { body } = await server.call('POST', '/api/v2/submit', { prompt, agentId: 'one-script' });
    return body as { runId: string; threadId: string };
  };
  const state = async (runId: string) => (await server.stores.runs.get(runId))?.state;
  const untilState = (runId: string, wanted: string) =>
    until(async () => ((await state(runId)) === wanted ? wanted : undefined));
  return { ...server, submit, untilState };
}

function cleanerOf({ stores, events, scripts }: TestServer, keepMs?: number): RunCleaner {
  const onFault = (error: unknown) => {
    throw error;
  };
  return new RunCleaner({ stores, log: events, scripts, keepMs, onFault });
}

describe('the log of live events', () => {
  it('keeps an ended run for a while, after which its stream comes from the thread store', async () => {
    const server = await open();
    const { runId } = await server.submit("return await tools.mark({ tag: 'a' });");
    const events = await server.follow(runId);
    await server.untilState(runId, 'completed');
    await cleanerOf(server).clean();
    expect((await server.events.list()).runs.map((run) => run.runId)).toEqual([runId]);
    await cleanerOf(server, 0).clean();
    expect((await server.events.list()).runs).toEqual([]);
    expect(await server.follow(runId)).toEqual(events);
    expect(await server.follow(runId, { from: 3 })).toEqual(events.slice(3));
  });

  it('may lose a run that waits: its readers miss nothing, before and after it resumes', async () => {
    const server = await open();
    const { runId } = await server.submit("return await tools.note({ tag: 'a' });");
    const isSuspended = ({ payload }: StreamEvent) => payload.type === 'response_done';
    const before = await server.follow(runId, { isLast: isSuspended });
    const seen: StreamEvent[] = [];
    const following = server.follow(runId, { isLast: (event) => (seen.push(event), false) });
    await until(() => seen.length === before.length);
    await cleanerOf(server, 0).clean();
    expect((await server.events.list()).runs.map((run) => run.runId)).toEqual([runId]);
    await server.events.delete(runId);
    expect(await server.follow(runId, { isLast: isSuspended })).toEqual(before);
    const resuming = server.follow(runId, { lastEventId: 2 });
    const { approvalId } = (await server.call('GET', '/api/v2/approvals')).body.data[0];
    await server.call('POST', `/api/v2/approvals/${approvalId}`, 'approve');
    const all = await following;
    expect(all.slice(0, before.length)).toEqual(before);
    expect(all.at(-1)!.payload).toMatchObject({ type: 'response_done', status: 'completed' });
    expect(all.map(({ seq }) => seq)).toEqual(all.map((_event, seq) => seq));
    expect(await resuming).toEqual(all.slice(3));
  });

  it('drops a deleted run', async () => {
    const server = await open();
    await server.events.open('run_deleted', 1);
    await cleanerOf(server, 0).clean();
    expect((await server.events.list()).runs).toEqual([]);
  });

  it('gives a reader in the middle of a run the rest from the thread store', async () => {
    const server = await open();
    const { runId } = await server.submit("return await tools.mark({ tag: 'a' });");
    const all = await server.follow(runId);
    const controller = new AbortController();
    const running = { ...(await server.stores.runs.get(runId))!, state: 'running' as const };
    // The reader has checked before the run ended.
    const runs = Object.assign(Object.create(server.stores.runs), { get: async () => running });
    const seen = [];
    for await (const event of streamRun({ ...server.stores, runs }, server.events, runId, {
      from: 0,
      signal: controller.signal,
    })) {
      seen.push(event);
      if (seen.length === 2) await server.events.delete(runId);
    }
    expect(seen).toEqual(all);
  });
});

describe('documents', () => {
  it('that have expired are deleted by the cleaner', async () => {
    const server = await open();
    const { threadId } = await server.stores.threads.create({ principal: 'ada' });
    const place = { scope: { kind: 'thread', id: threadId }, kind: 'file' } as const;
    for (const name of ['a', 'b'])
      await server.stores.documents.save({ ...place, name, text: '', expiresAt: Date.now() - 1 });
    await cleanerOf(server).clean();
    expect(await server.stores.documents.deleteExpired()).toBe(0);
  });
});

describe('a deleted thread', () => {
  it.each([
    ['runs', "await tools.mark({ tag: 'a' }); await sleep(300_000); return await tools.mark({ tag: 'b' });", 'running'],
    ['waits', "await tools.mark({ tag: 'a' }); return await tools.note({ tag: 'b' });", 'suspended'],
  ])('leaves no log and no script if a script %s', async (_name, prompt, wanted) => {
    const server = await open();
    const { runId, threadId } = await server.submit(prompt);
    const script = () => listScripts(server.scripts);
    await until(async () => (await script())[0]?.state === wanted);
    await server.untilState(runId, wanted);
    expect((await server.call('DELETE', `/api/v2/threads/${threadId}`)).status).toBe(204);
    await until(async () => (await script()).length === 0);
    await until(async () => (await server.events.list()).runs.length === 0);
    expect(await server.stores.runs.get(runId)).toBeUndefined();
    // The worker is free again.
    const next = await server.submit("return await tools.mark({ tag: 'c' });");
    await server.untilState(next.runId, 'completed');
    expect(await script()).toMatchObject([{ state: 'ended' }]);
  });
});

describe('a run that waits', () => {
  it('continues when its approval has expired', async () => {
    const server = await open({ approvalTimeoutMs: 200 });
    const { runId } = await server.submit("return await tools.note({ tag: 'a' }).catch((error) => error.name);");
    await server.untilState(runId, 'completed');
    const { body } = await server.call('GET', `/api/v2/approvals?state=all&runId=${runId}`);
    expect(body.data).toMatchObject([{ state: 'expired' }]);
    const events = await server.follow(runId);
    expect(JSON.stringify(events)).toContain('ApprovalTimeoutError');
  });

  it('leaves no suspended script when it is cancelled', async () => {
    const server = await open();
    const { runId } = await server.submit("return await tools.note({ tag: 'a' });");
    await server.untilState(runId, 'suspended');
    await server.call('POST', `/api/v2/runs/${runId}/cancel`);
    await server.untilState(runId, 'cancelled');
    expect(await listScripts(server.scripts)).toMatchObject([{ state: 'ended' }]);
    const { images } = await pruneScripts(server.scripts);
    expect(await server.scripts.images.list()).toEqual([]);
    expect(images.length).toBeGreaterThan(0);
  });
});
