import { foldResponse } from '@toolscript/core/history';
import { endsRun } from '@toolscript/core/stream';
import type { OutputItem } from '@toolscript/core/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestServer, TOKEN, type TestServer } from '../support/test-server.js';
import { until } from '@toolscript/testkit/until';

let server: TestServer;

beforeAll(async () => {
  server = await openTestServer();
});

afterAll(() => server.close());

async function submit(prompt: string, more: object = {}) {
  const { status, body } = await server.call('POST', '/api/v2/submit', { prompt, ...more });
  expect(status).toBe(202);
  return body as { runId: string; threadId: string; turnId: string };
}

/** The only approval that a run waits for. */
function approvalOf(runId: string) {
  return until(async () => {
    const { body } = await server.call('GET', `/api/v2/approvals?runId=${runId}`);
    return body.data[0] as { approvalId: string; inputJson: string; rendered: string; line: number } | undefined;
  });
}

function outputOf(items: readonly OutputItem[]) {
  return items.findLast((item) => item.type === 'script_execution_output');
}

describe('a submitted prompt', () => {
  it('is answered by a run whose stream has every event once, in order', async () => {
    const { runId, threadId } = await submit('hello');
    const events = await server.follow(runId);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_event, index) => index));
    expect(endsRun(events.at(-1)!.payload)).toBe(true);
    const { body } = await server.call('GET', `/api/v2/threads/${threadId}?operations=full`);
    expect(body.runs).toEqual([expect.objectContaining({ runId, status: 'completed' })]);
    expect(body.items.slice(1)).toEqual(JSON.parse(JSON.stringify(foldResponse(events).output_items)));
    expect(body.items[0]).toMatchObject({ type: 'message', role: 'user', content: 'hello' });
  });

  it('is accepted once for the same idempotency key, and rejected for another request with that key', async () => {
    const key = { 'idempotency-key': 'one' };
    const [first, second] = await Promise.all([
      server.call('POST', '/api/v2/submit', { prompt: 'once' }, key),
      server.call('POST', '/api/v2/submit', { prompt: 'once' }, key),
    ]);
    expect(first.status).toBe(202);
    expect(second.body).toEqual(first.body);
    const other = await server.call('POST', '/api/v2/submit', { prompt: 'twice' }, key);
    expect(other.status).toBe(409);
  });

  it('is the same request when it is sent again in another trace', async () => {
    const trace = (digit: string) => ({
      'idempotency-key': 'traced',
      traceparent: `00-${digit.repeat(32)}-${digit.repeat(16)}-01`,
    });
    const first = await server.call('POST', '/api/v2/submit', { prompt: 'once' }, trace('1'));
    const second = await server.call('POST', '/api/v2/submit', { prompt: 'once' }, trace('2'));
    expect(second).toMatchObject({ status: 202, body: first.body });
  });

  it('may have images, and is rejected if it is empty or for another principal’s thread', async () => {
    const image = { media_type: 'image/png', data: 'iVBORw0KGgo=' };
    const { status, body } = await server.call('POST', '/api/v2/submit', {
      input: [{ content: 'see', images: [image] }],
    });
    expect(status).toBe(202);
    const thread = await server.call('GET', `/api/v2/threads/${body.threadId}`);
    expect(thread.body.items[0]).toMatchObject({ role: 'user', images: [{ media_type: 'image/png' }] });
    for (const wrong of [
      { prompt: '  ' },
      { input: [{ content: '' }] },
      { input: [{ content: 'x', role: 'assistant' }] },
      { input: [{ type: 'script_execution_output', content: 'x' }] },
      { input: [{ content: 'x', images: [{ ...image, data: 'A'.repeat(7 * 1024 * 1024) }] }] },
    ])
      expect(await server.call('POST', '/api/v2/submit', wrong)).toMatchObject({ status: 400 });
  });

  it('may have files, whose bytes must be of their type', async () => {
    const data = Buffer.from('%PDF-1.7').toString('base64');
    const file = { name: 'a.pdf', media_type: 'application/pdf', data };
    const { status, body } = await server.call('POST', '/api/v2/submit', {
      input: [{ content: 'read', files: [file] }],
    });
    expect(status).toBe(202);
    const thread = await server.call('GET', `/api/v2/threads/${body.threadId}`);
    expect(thread.body.items[0]).toMatchObject({ role: 'user', files: [{ type: 'file', ...file }] });
    for (const wrong of [
      { ...file, media_type: 'audio/wav' },
      { ...file, data: Buffer.from('text').toString('base64') },
      { ...file, data: Buffer.alloc(5 * 1024 * 1024 + 1, '%PDF-').toString('base64') },
      { ...file, media_type: 'text/html' },
    ]) {
      const refused = await server.call('POST', '/api/v2/submit', { input: [{ content: 'read', files: [wrong] }] });
      expect(refused.status).toBe(400);
    }
    const many = await server.call('POST', '/api/v2/submit', {
      input: [{ content: 'x', files: [file, file, file, file, file] }],
    });
    expect(many.status).toBe(400);
  });

  it('continues its thread, which the model reads', async () => {
    const first = await submit('one');
    await server.follow(first.runId);
    const second = await submit('two', { threadId: first.threadId });
    await server.follow(second.runId);
    const { body } = await server.call('GET', `/api/v2/threads/${first.threadId}`);
    const said = body.items.filter((item: OutputItem) => item.type === 'message' && item.role === 'user');
    expect(said.map(({ content }: { content: string }) => content)).toEqual(['one', 'two']);
  });
});

describe('a stream', () => {
  it('continues after the event that Last-Event-ID names, and has nothing after the last one', async () => {
    const { runId } = await submit('again');
    const all = await server.follow(runId);
    expect(await server.follow(runId, { from: 5 })).toEqual(all.slice(5));
    const end = await fetch(`${server.url}/api/v2/stream/${runId}`, {
      headers: { authorization: `Bearer ${TOKEN}`, 'last-event-id': String(all.at(-1)!.seq) },
    });
    expect(end.status).toBe(204);
    const middle = await fetch(`${server.url}/api/v2/stream/${runId}`, {
      headers: { authorization: `Bearer ${TOKEN}`, 'last-event-id': String(all.at(-1)!.seq - 1) },
    });
    expect((await middle.text()).startsWith(`id: ${all.at(-1)!.seq}\nevent: response_done\ndata: {`)).toBe(true);
  });
});

describe('a stream of a run without a worker', () => {
  it('ends when the thread is deleted', async () => {
    const idle = await openTestServer({ workers: 0 });
    const { body } = await idle.call('POST', '/api/v2/submit', { prompt: 'hello' });
    const following = idle.follow(body.runId);
    expect((await idle.call('DELETE', `/api/v2/threads/${body.threadId}`)).status).toBe(204);
    expect(await following).toEqual([]);
    await idle.close();
  });
});

describe('a request without a connection', () => {
  it('is answered, for tests of a host', async () => {
    const headers = { authorization: `Bearer ${TOKEN}`, host: '127.0.0.1' };
    const response = await server.app.inject({ method: 'GET', url: '/api/v2/agents', headers });
    expect(response.statusCode).toBe(200);
    expect(response.json().data).toMatchObject([{ agentId: 'demo' }]);
  });
});

describe('an approval', () => {
  it('is listed with the exact call, and its run continues after it was approved', async () => {
    const { runId, threadId } = await submit('please approve');
    const following = server.follow(runId);
    const approval = await approvalOf(runId);
    expect(approval).toMatchObject({ threadId, tool: 'signGuestBook', inputJson: '{"name":"demo"}', state: 'pending' });
    const decided = await server.call('POST', `/api/v2/approvals/${approval.approvalId}`, 'approve');
    expect(decided).toMatchObject({ status: 200, body: { state: 'approved', decidedBy: 'local' } });
    const events = await following;
    expect(outputOf(foldResponse(events).output_items)).toMatchObject({ result: { guest: { signed: 'demo' } } });
    expect((await server.call('GET', `/api/v2/runs/${runId}`)).body.status).toBe('completed');
  });

  it('is decided once: the second request gets the first decision', async () => {
    const { runId } = await submit('please approve');
    const { approvalId } = await approvalOf(runId);
    const answers = await Promise.all([
      server.call('POST', `/api/v2/approvals/${approvalId}`, { decision: 'approve', note: 'yes' }),
      server.call('POST', `/api/v2/approvals/${approvalId}`, { decision: 'deny', note: 'no' }),
    ]);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 409]));
    const winner = answers.find(({ status }) => status === 200)!.body;
    expect(answers.find(({ status }) => status === 409)!.body.approval).toMatchObject({
      state: winner.state,
      decision: winner.decision,
    });
    await server.follow(runId);
  });

  it('accepts changed arguments that fit the tool, and rejects others', async () => {
    const { runId } = await submit('please approve');
    const { approvalId } = await approvalOf(runId);
    const wrong = await server.call('POST', `/api/v2/approvals/${approvalId}`, {
      decision: 'approve',
      input: { nome: 1 },
    });
    expect(wrong.status).toBe(400);
    const right = { decision: 'approve', input: { name: 'somebody' } };
    expect((await server.call('POST', `/api/v2/approvals/${approvalId}`, right)).status).toBe(200);
    const events = await server.follow(runId);
    expect(outputOf(foldResponse(events).output_items)).toMatchObject({ result: { guest: { signed: 'somebody' } } });
  });

  it('reports a denial and its note to the script', async () => {
    const { runId } = await submit('please approve');
    const { approvalId } = await approvalOf(runId);
    await server.call('POST', `/api/v2/approvals/${approvalId}`, { decision: 'deny', note: 'not today' });
    const events = await server.follow(runId);
    expect(outputOf(foldResponse(events).output_items)).toMatchObject({
      error: { code: 'ApprovalDeniedError', message: expect.stringContaining('not today') },
    });
  });
});

describe('a thread', () => {
  it('is renamed and deleted, also by clients that send a content type without a body', async () => {
    const { runId, threadId } = await submit('hello');
    await server.follow(runId);
    await server.call('PATCH', `/api/v2/threads/${threadId}`, { title: 'A greeting' });
    const listed = await server.call('GET', '/api/v2/threads?text=greeting');
    expect(listed.body.data).toMatchObject([{ threadId, title: 'A greeting' }]);
    const json = { 'content-type': 'application/json' };
    expect((await server.call('DELETE', `/api/v2/threads/${threadId}`, undefined, json)).status).toBe(204);
    expect((await server.call('GET', `/api/v2/threads/${threadId}`)).status).toBe(404);
    expect((await server.call('GET', `/api/v2/stream/${runId}`)).status).toBe(404);
  });
});

describe('a cancellation', () => {
  it('ends a running run', async () => {
    const { runId } = await submit('slow 500');
    await server.follow(runId, { isLast: ({ payload }) => payload.type === 'script_log' });
    expect((await server.call('POST', `/api/v2/runs/${runId}/cancel`)).status).toBe(202);
    const events = await server.follow(runId);
    expect(events.at(-1)!.payload).toMatchObject({ type: 'response_done', status: 'cancelled' });
    await until(async () => {
      const { body } = await server.call('GET', `/api/v2/runs/${runId}`);
      return body.status === 'cancelled' ? body : undefined;
    });
  });

  it('ends a waiting run and its approvals', async () => {
    const { runId } = await submit('please approve');
    const { approvalId } = await approvalOf(runId);
    await server.call('POST', `/api/v2/runs/${runId}/cancel`);
    const events = await server.follow(runId);
    expect(events.at(-1)!.payload).toMatchObject({ type: 'response_done', status: 'cancelled' });
    const late = await server.call('POST', `/api/v2/approvals/${approvalId}`, 'approve');
    expect(late).toMatchObject({ status: 409, body: { approval: { state: 'cancelled' } } });
    const items = foldResponse(events).output_items;
    expect(items.find((item) => item.type === 'script_execution')).not.toMatchObject({ status: 'suspended' });
  });
});
