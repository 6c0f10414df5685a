import { createClient, ProblemError, type Approval, type StreamEvent } from '@toolscript/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestServer, TOKEN, type TestServer } from '../../server/test/support/test-server.js';
import { cuttingFetch } from './support/cutting-fetch.js';
import { until } from '@toolscript/testkit/until';

let server: TestServer;

beforeAll(async () => {
  server = await openTestServer();
});

afterAll(() => server.close());

function client(options: { token?: string; fetch?: typeof globalThis.fetch } = {}) {
  return createClient({ baseUrl: server.url, token: TOKEN, ...options });
}

/** The problem with which a call fails. */
async function problemOf(call: Promise<unknown>) {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(ProblemError);
  return (error as ProblemError).problem;
}

async function approvalOf(runId: string): Promise<Approval> {
  return until(async () => (await client().approvals.list({ runId })).data[0]);
}

async function seqsOf(events: AsyncIterable<StreamEvent>): Promise<number[]> {
  const seqs: number[] = [];
  for await (const { seq } of events) seqs.push(seq);
  return seqs;
}

describe('a response', () => {
  it('grows to the items of the stored thread', async () => {
    const { runId, threadId } = await client().submit({ prompt: 'hello' });
    const response = client().response(runId);
    let changes = 0;
    for await (const { run_id } of response) {
      expect(run_id).toBe(runId);
      changes += 1;
    }
    expect(changes).toBeGreaterThan(1);
    expect(response.current.status).toBe('completed');
    const thread = await client().threads.get(threadId, { operations: 'full' });
    expect(thread.items.slice(1)).toEqual(response.current.output_items);
  });

  it('lists the approvals that a run waits for, and continues after the decisions', async () => {
    const { runId } = await client().submit({ prompt: 'please approve' });
    const response = client().response(runId);
    const asked = new Set<string>();
    for await (const _change of response)
      for (const { approval_id: approvalId } of response.live.pendingApprovals) {
        if (asked.has(approvalId)) continue;
        asked.add(approvalId);
        await until(() =>
          client()
            .approvals.get(approvalId)
            .catch(() => undefined),
        );
        await client().approvals.decide(approvalId, 'approve');
      }
    expect(asked.size).toBe(1);
    expect(response.current.status).toBe('completed');
  });

  it('is available at once after the end', async () => {
    const { runId } = await client().submit({ prompt: 'hello' });
    const response = await client().response(runId).final();
    expect(response.status).toBe('completed');
    expect(response.output_items.length).toBeGreaterThan(2);
  });
});

describe('a stream', () => {
  it('has every event once and in order, wherever its connections break', async () => {
    const { runId } = await client().submit({ prompt: 'hello' });
    const whole = await seqsOf(client().stream(runId));
    const { fetch, cuts, lastEventIds } = cuttingFetch(16, { maxCuts: 12, maxBytes: 1500 });
    expect(await seqsOf(client({ fetch }).stream(runId))).toEqual(whole);
    expect(cuts()).toBe(12);
    expect(lastEventIds.filter((id) => id !== null).length).toBeGreaterThan(3);
  });

  it('starts at any event, and has none after the last one', async () => {
    const { runId } = await client().submit({ prompt: 'hello' });
    const whole = await seqsOf(client().stream(runId));
    expect(await seqsOf(client().stream(runId, { from: 5 }))).toEqual(whole.slice(5));
    expect(await seqsOf(client().stream(runId, { from: whole.length }))).toEqual([]);
  });

  it('ends without an error when its signal aborts', async () => {
    const { runId } = await client().submit({ prompt: 'slow 500' });
    const stop = new AbortController();
    for await (const { payload } of client().stream(runId, { signal: stop.signal }))
      if (payload.type === 'script_log') stop.abort();
    const cancelled = await client().runs.cancel(runId);
    expect(cancelled.runId).toBe(runId);
    expect((await client().response(runId).final()).status).toBe('cancelled');
  });

  it('fails at once for a run that does not exist', async () => {
    const attempts: number[] = [];
    const onRetry = ({ attempt }: { attempt: number }) => attempts.push(attempt);
    expect(await problemOf(seqsOf(client().stream('run_none', { onRetry })))).toMatchObject({ status: 404 });
    expect(attempts).toEqual([]);
  });
});

describe('a refused request', () => {
  it('is one error with the problem document', async () => {
    const wrong = client({ token: 'a-token-that-nobody-has' });
    expect(await problemOf(wrong.threads.list())).toMatchObject({ status: 401, title: 'Not authenticated' });
    expect(await problemOf(client().threads.get('thr_none'))).toMatchObject({ status: 404 });
    expect(await problemOf(client().threads.delete('thr_none'))).toMatchObject({ status: 404 });
    const { errors, detail } = await problemOf(client().submit({}));
    expect(detail).toContain('needs either "prompt" or "input"');
    expect(errors).toHaveLength(1);
  });

  it('contains the earlier decision', async () => {
    const { runId } = await client().submit({ prompt: 'please approve' });
    const { approvalId } = await approvalOf(runId);
    await client().approvals.decide(approvalId, { decision: 'deny', note: 'no' });
    const problem = await problemOf(client().approvals.decide(approvalId, 'approve'));
    expect(problem).toMatchObject({ status: 409, approval: { approvalId, state: 'denied' } });
  });
});

describe('the other routes', () => {
  it('list, rename and delete threads', async () => {
    const { threadId, runId } = await client().submit({ prompt: 'hello' }, { idempotencyKey: 'routes' });
    const again = await client().submit({ prompt: 'hello' }, { idempotencyKey: 'routes' });
    expect(again).toMatchObject({ threadId, runId });
    await client().response(runId).final();
    expect((await client().threads.rename(threadId, 'Another title')).title).toBe('Another title');
    const { data } = await client().threads.list({ text: 'another TITLE', limit: 1 });
    expect(data.map((thread) => thread.threadId)).toEqual([threadId]);
    expect((await client().runs.get(runId)).threadId).toBe(threadId);
    await client().threads.delete(threadId);
    expect((await client().threads.list({ text: 'another title' })).data).toEqual([]);
  });

  it('show scripts, wait for them, and cancel them', async () => {
    const { runId } = await client().submit({ prompt: 'please approve' });
    const { scriptId = '', approvalId } = await approvalOf(runId);
    const waiting = await client().scripts.get(scriptId, { waitMs: 30_000 });
    expect(waiting).toMatchObject({ status: 'suspended', pendingApprovals: [{ approvalId }] });
    const end = await client().scripts.cancel(scriptId);
    expect(end).toMatchObject({ status: 'failed', error: { code: 'ScriptCancelledError' } });
    expect(await client().scripts.get(scriptId)).toEqual(end);
    expect(await problemOf(client().scripts.get('scr_none'))).toMatchObject({ status: 404 });
  });

  it('list agents and tools', async () => {
    expect((await client().agents.list()).data.map(({ agentId }) => agentId)).toContain('demo');
    expect((await client().tools.list({ agentId: 'demo' })).data.map(({ name }) => name)).toEqual(['signGuestBook']);
  });
});
