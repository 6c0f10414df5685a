import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { checkEvents, openResponsesServer, type ResponsesServer } from './support/responses-server.js';
import { until } from '@toolscript/testkit/until';

let server: ResponsesServer;

beforeAll(async () => {
  server = await openResponsesServer();
});

afterAll(() => server.close());

const threadOf = async (responseId: string) =>
  (await server.stores.runs.get(responseId.slice('resp_'.length)))!.threadId;

describe('a previous response', () => {
  it('can be continued in its thread, with and without a stream', async () => {
    const first = await server.create({ input: 'one' });
    const second = await server.create({ input: 'two', previous_response_id: first.id });
    expect(second.output_text).toBe('Answer 2 to: two');
    const { final } = await server.stream({ input: 'three', previous_response_id: second.id });
    expect(final.output_text).toBe('Answer 3 to: three');
    expect(await threadOf(final.id)).toBe(await threadOf(first.id));
  });

  it('that is not the newest starts another thread, with the conversation up to it', async () => {
    const first = await server.create({ input: 'one' });
    const second = await server.create({ input: 'two', previous_response_id: first.id });
    const branch = await server.create({ input: 'other two', previous_response_id: first.id });
    expect(branch.output_text).toBe('Answer 2 to: other two');
    expect(JSON.stringify(server.requests.at(-1)!.conversation)).not.toContain('"two"');
    expect(await threadOf(branch.id)).not.toBe(await threadOf(second.id));
    const both = [second, branch].map(({ id }) => server.create({ input: 'three', previous_response_id: id }));
    for (const { output_text } of await Promise.all(both)) expect(output_text).toBe('Answer 3 to: three');
    const items = await server.client.responses.inputItems.list(branch.id);
    expect(items.data).toMatchObject([{ role: 'user', content: [{ text: 'other two' }] }]);
  });

  it('that is not the newest shares its conversation with the branch, which can be deleted', async () => {
    const first = await server.create({ input: 'one' });
    await server.create({ input: 'two', previous_response_id: first.id });
    const branch = await server.create({ input: 'other two', previous_response_id: first.id });
    const threadId = await threadOf(branch.id);
    const turnId = (await server.stores.runs.get(first.id.slice('resp_'.length)))!.turnId;
    const branchOf = { threadId: await threadOf(first.id), turnId, withTurn: true };
    expect(await server.stores.threads.get(threadId)).toMatchObject({ title: 'other two', branchOf });
    const { turns } = await server.stores.threads.readItems(threadId);
    expect(turns.map(({ items }) => items.filter((item) => 'role' in item && item.role === 'user').length)).toEqual([
      1, 1,
    ]);
    await server.client.responses.delete(branch.id);
    expect(await server.stores.threads.get(threadId)).toBeUndefined();
    expect(await server.client.responses.retrieve(first.id)).toMatchObject({ output_text: 'Answer 1 to: one' });
  });

  it('that follows an open one is continued with a copy of the conversation', async () => {
    const open = await server.create({ input: 'stamp' });
    const first = await server.create({ input: 'one', previous_response_id: open.id });
    await server.create({ input: 'two', previous_response_id: first.id });
    const copy = await server.create({ input: 'other two', previous_response_id: first.id });
    expect(copy.status).toBe('completed');
    expect((await server.stores.threads.get(await threadOf(copy.id)))?.branchOf).toBeUndefined();
  });

  it('that follows an open one shares the turns before the open one', async () => {
    const first = await server.create({ input: 'one' });
    const open = await server.create({ input: 'stamp', previous_response_id: first.id });
    const second = await server.create({ input: 'two', previous_response_id: open.id });
    await server.create({ input: 'three', previous_response_id: second.id });
    const source = await threadOf(first.id);
    const read = vi.spyOn(server.stores.threads, 'readItems');
    const branch = await server.create({ input: 'other three', previous_response_id: second.id });
    expect(read.mock.calls.filter(([thread]) => thread === source)).toHaveLength(1);
    read.mockRestore();
    const threadId = await threadOf(branch.id);
    const { turnId } = (await server.stores.runs.get(open.id.slice('resp_'.length)))!;
    expect(await server.stores.threads.get(threadId)).toMatchObject({
      branchOf: { threadId: source, turnId },
    });
    const { conversation } = server.requests.at(-1)!;
    const prompts = conversation.filter((item) => item.type === 'message' && item.role === 'user');
    expect(prompts).toMatchObject(['one', 'stamp', 'two', 'other three'].map((content) => ({ content })));
  });

  it('has one successor in its thread, for any number of concurrent requests', async () => {
    const first = await server.create({ input: 'one' });
    const requests = Array.from({ length: 4 }, (_, index) =>
      server.create({ input: `two ${index}`, previous_response_id: first.id }),
    );
    const answers = await Promise.all(requests);
    expect(answers.map(({ output_text }) => output_text)).toEqual(
      [0, 1, 2, 3].map((index) => `Answer 2 to: two ${index}`),
    );
    const threads = await Promise.all(answers.map(({ id }) => threadOf(id)));
    expect(new Set(threads).size).toBe(4);
  });

  it('may be any run of the caller', async () => {
    const { body } = await server.call('POST', '/api/v2/submit', { prompt: 'one', agentId: 'helper' });
    await server.follow(body.runId);
    const response = await server.client.responses.create({ input: 'two', previous_response_id: `resp_${body.runId}` });
    expect(response.output_text).toBe('Answer 2 to: two');
    expect(await threadOf(response.id)).toBe(body.threadId);
    expect(await server.client.responses.retrieve(`resp_${body.runId}`)).toMatchObject({
      status: 'completed',
      output_text: 'Answer 1 to: one',
    });
  });

  it('stays unchanged if the next one is not stored', async () => {
    const first = await server.create({ input: 'one' });
    const unstored = await server.create({ input: 'two', previous_response_id: first.id, store: false });
    expect(unstored.output_text).toBe('Answer 2 to: two');
    const { body } = await server.call('GET', `/api/v2/threads/${await threadOf(first.id)}`);
    expect(body.runs).toHaveLength(1);
  });

  it('that has not ended, or does not exist, is rejected', async () => {
    const { id } = await server.create({ input: 'slow', background: true });
    const next = server.create({ input: 'two', previous_response_id: id });
    await expect(next).rejects.toMatchObject({ status: 400, code: 'response_in_progress' });
    await server.client.responses.cancel(id);
    for (const previous_response_id of ['resp_none', 'none'])
      await expect(server.create({ input: 'x', previous_response_id })).rejects.toMatchObject({
        status: 400,
        code: 'previous_response_not_found',
        param: 'previous_response_id',
      });
  });
});

describe('a stored response', () => {
  it('is cancelled', async () => {
    const { id } = await server.create({ input: 'slow', background: true });
    expect(await server.client.responses.cancel(id)).toMatchObject({ id, status: 'cancelled' });
    expect(await server.client.responses.retrieve(id)).toMatchObject({ status: 'cancelled' });
    expect(await server.client.responses.cancel(id)).toMatchObject({ status: 'cancelled' });
  });

  it('shows its input, page by page', async () => {
    const input = ['a', 'b', 'c'].map((content) => ({ role: 'user' as const, content }));
    const { id } = await server.create({ input });
    const texts: string[] = [];
    for await (const item of server.client.responses.inputItems.list(id, { limit: 2, order: 'asc' }))
      texts.push((item as unknown as { content: { text: string }[] }).content[0]!.text);
    expect(texts).toEqual(['a', 'b', 'c']);
    const newest = await server.client.responses.inputItems.list(id, { limit: 1 });
    expect(newest.data).toMatchObject([{ content: [{ type: 'input_text', text: 'c' }] }]);
  });

  it('is deleted with its conversation, if it is the only one there', async () => {
    const { id } = await server.create({ input: 'one' });
    const thread = await threadOf(id);
    const second = await server.create({ input: 'two', previous_response_id: id });
    await expect(server.client.responses.delete(second.id)).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining(`DELETE /api/v2/threads/${thread}`),
    });
    const only = await server.create({ input: 'one' });
    await server.client.responses.delete(only.id);
    await expect(server.client.responses.retrieve(only.id)).rejects.toMatchObject({ status: 404 });
  });
});

describe('a response that waits for an approval', () => {
  const pending = (id: string) =>
    until(async () => {
      const { body } = await server.call('GET', `/api/v2/approvals?runId=${id.slice('resp_'.length)}`);
      return body.data[0] as { approvalId: string } | undefined;
    });

  it('is incomplete, names the approval, and is complete after the decision', async () => {
    const { final, events } = await server.stream({ input: 'say and stamp' });
    expect(final).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'approval_required' } });
    expect(events.at(-1)!.type).toBe('response.incomplete');
    const { approvalId } = await pending(final.id);
    expect(final.metadata).toEqual({ toolscript_approval_ids: approvalId });
    expect(await server.client.responses.retrieve(final.id)).toMatchObject({ status: 'incomplete' });
    await server.call('POST', `/api/v2/approvals/${approvalId}`, 'approve');
    const done = await until(async () => {
      const now = await server.client.responses.retrieve(final.id);
      return now.status === 'completed' ? now : undefined;
    });
    expect(done.output_text).toBe('You said: say and stampI read: {"stamped":"A"}');
    expect(done).toMatchObject({ metadata: {}, incomplete_details: null });
    // A client that read the first part continues from there.
    const all: { sequence_number: number }[] = [];
    for await (const event of await server.client.responses.retrieve(final.id, { stream: true })) all.push(event);
    const begun = events.map(({ sequence_number }) => sequence_number);
    expect(all.slice(0, begun.length - 1)).toEqual(events.slice(0, -1).map(withoutSnapshot));
    expect(all.at(-1)).toMatchObject({ type: 'response.completed' });
    expect(all.map(({ sequence_number }) => sequence_number)).not.toContain(begun.at(-1));
  });

  it('answers the same without a stream, and is ended by a denial', async () => {
    const response = await server.create({ input: 'stamp' });
    expect(response).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'approval_required' } });
    const { approvalId } = await pending(response.id);
    await server.call('POST', `/api/v2/approvals/${approvalId}`, 'deny');
    const done = await until(async () => {
      const now = await server.client.responses.retrieve(response.id);
      return now.status === 'completed' ? now : undefined;
    });
    expect(done.status).toBe('completed');
  });

  it('can be continued before the decision', async () => {
    const response = await server.create({ input: 'stamp' });
    const next = await server.create({ input: 'hello', previous_response_id: response.id });
    expect(next.status).toBe('completed');
  });
});

function withoutSnapshot(event: object): object {
  const { snapshot: _added, ...sent } = event as { snapshot?: unknown };
  return sent;
}

it('a stream that was read from a stored response has the shape of a live one', async () => {
  const { id } = await server.create({
    input: 'think, say and script',
    include: ['toolscript:script_execution'] as never,
  });
  const events: object[] = [];
  for await (const event of await server.client.responses.retrieve(id, { stream: true })) events.push(event);
  checkEvents(events);
});
