import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestServer, type TestServer } from '../support/test-server.js';
import { until } from '@toolscript/testkit/until';

let server: TestServer;

beforeAll(async () => {
  server = await openTestServer();
});

afterAll(() => server.close());

async function submit(body: object) {
  const { status, body: submitted } = await server.call('POST', '/api/v2/submit', body);
  expect(status, JSON.stringify(submitted)).toBe(202);
  await server.follow(submitted.runId);
  return submitted as { runId: string; threadId: string; turnId: string };
}

async function thread(threadId: string) {
  return (await server.call('GET', `/api/v2/threads/${threadId}?operations=full`)).body;
}

describe('a message that is edited and sent again', () => {
  it('begins a branch with the turns before it, whose runs can be followed', async () => {
    const first = await submit({ prompt: 'one' });
    const second = await submit({ prompt: 'two', threadId: first.threadId });
    await submit({ prompt: 'three', threadId: first.threadId });
    const { title, items, ...before } = await thread(first.threadId);
    const edited = await submit({ prompt: 'other', threadId: first.threadId, branchBefore: second.turnId });
    const branch = await thread(edited.threadId);
    expect(branch).toMatchObject({ title, branchOf: { threadId: first.threadId, turnId: second.turnId } });
    expect(branch.runs).toHaveLength(2);
    const own = branch.items.slice(branch.items.length / 2);
    expect(branch.items.slice(0, -own.length)).toEqual(items.slice(0, items.length / 3));
    expect(own[0]).toMatchObject({ role: 'user', content: 'other' });
    const events = await server.follow(branch.runs[0].runId);
    expect(events.length).toBeGreaterThan(3);
    for (const event of events)
      expect(event).toMatchObject({ run_id: branch.runs[0].runId, thread_id: edited.threadId });
    expect(await thread(first.threadId)).toEqual({ title, items, ...before });
  });

  it('is refused for a turn of another thread, without a thread, and after a turn that has not ended', async () => {
    const one = await submit({ prompt: 'one' });
    const other = await submit({ prompt: 'other' });
    const refusal = async (body: object) => {
      const { status, body: problem } = await server.call('POST', '/api/v2/submit', { prompt: 'x', ...body });
      return [status, problem.detail];
    };
    expect(await refusal({ threadId: one.threadId, branchBefore: other.turnId })).toEqual([
      404,
      `There is no turn "${other.turnId}". Check the id: the turn may have been deleted.`,
    ]);
    expect(await refusal({ branchBefore: one.turnId })).toEqual([
      400,
      expect.stringContaining('needs "threadId" together with "branchBefore"'),
    ]);
    const waiting = await server.call('POST', '/api/v2/submit', { prompt: 'approve', threadId: one.threadId });
    const { threadId } = one;
    await until(async () => {
      const { body } = await server.call('GET', '/api/v2/threads');
      const listed = body.data.find((each: { threadId: string }) => each.threadId === threadId);
      return listed.activeState === 'suspended' ? true : undefined;
    });
    const later = await submit({ prompt: 'later', threadId });
    expect(await refusal({ threadId, branchBefore: later.turnId })).toEqual([
      409,
      expect.stringContaining(`The turn ${waiting.body.turnId} has not ended. Decide its approvals or stop it`),
    ]);
    const branch = await submit({ prompt: 'before', threadId, branchBefore: waiting.body.turnId });
    expect((await thread(branch.threadId)).runs).toHaveLength(2);
  });
});
