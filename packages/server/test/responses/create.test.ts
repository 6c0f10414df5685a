import { isFinalRunState } from '@toolscript/core/internal';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HELPER_MODEL } from './support/helper-agent.js';
import { openResponsesServer, outputOf, PIXEL, type ResponsesServer } from './support/responses-server.js';
import { until } from '@toolscript/testkit/until';

let server: ResponsesServer;

beforeAll(async () => {
  server = await openResponsesServer();
});

afterAll(() => server.close());

describe('a response', () => {
  it('has the model’s text, the members of the request, and the usage', async () => {
    const response = await server.create({ input: 'hello', metadata: { ticket: '7' }, temperature: 0.5 });
    expect(response).toMatchObject({
      object: 'response',
      status: 'completed',
      model: 'helper',
      output_text: 'Answer 1 to: hello',
      metadata: { ticket: '7' },
      temperature: 0.5,
      error: null,
    });
    expect(response.usage!.total_tokens).toBe(response.usage!.input_tokens + response.usage!.output_tokens);
    expect(response.usage!.output_tokens).toBeGreaterThan(0);
  });

  it.each(['say something', 'think and say', 'script', 'think, say and script'])(
    'is the same in one piece, streamed, accumulated and read again: %s',
    async (input) => {
      const { events, final } = await server.stream({ input });
      expect(final.status).toBe('completed');
      const last = events.at(-1)!;
      expect(last.type).toBe('response.completed');
      expect(outputOf(events)).toEqual((last as { response: { output: unknown } }).response.output);
      const read = await server.client.responses.retrieve(final.id);
      expect(read).toEqual({ ...(last as { response: object }).response, output_text: read.output_text });
      const whole = await server.create({ input });
      expect(whole.output_text).toBe(read.output_text);
      expect(whole.output.map(({ type }) => type)).toEqual(read.output.map(({ type }) => type));
    },
  );

  it('streams text in chunks, as the model writes it', async () => {
    const { events, final } = await server.stream({ input: 'say, pause' });
    const deltas = events.flatMap((event) => (event.type === 'response.output_text.delta' ? [event.delta] : []));
    expect(deltas.length).toBeGreaterThan(1);
    expect(deltas.join('')).toBe('You said: say, pause And more.');
    expect(final.output_text).toBe(deltas.join(''));
  });

  it('shows reasoning as a summary', async () => {
    const { output } = await server.create({ input: 'think and say' });
    expect(output[0]).toMatchObject({ type: 'reasoning', summary: [{ text: 'First I think it over.' }] });
    expect(output[1]).toMatchObject({ type: 'message' });
  });

  it('shows scripts only on request', async () => {
    const plain = await server.create({ input: 'script' });
    expect(plain.output.map(({ type }) => type)).toEqual(['message']);
    const include = ['toolscript:script_execution'] as never;
    const { final, events } = await server.stream({ input: 'script', include });
    const { response } = events.at(-1) as unknown as { response: { output: unknown } };
    expect(response.output).toEqual(outputOf(events));
    expect(final.output).toMatchObject([
      { type: 'toolscript:script_execution', source_code: expect.stringContaining('return 42') },
      {
        type: 'toolscript:script_execution_output',
        outcome: 'completed',
        result: 42,
        logs: [{ text: 'in the script' }],
      },
      { type: 'message' },
    ]);
    const later = await server.client.responses.retrieve(plain.id, { include });
    expect(later.output.map(({ type }) => type)).toEqual(final.output.map(({ type }) => type));
  });

  it('is incomplete if the model stopped early, and contains the reason', async () => {
    const { final, events } = await server.stream({ input: 'short' });
    expect(final).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } });
    expect(events.at(-1)!.type).toBe('response.incomplete');
    expect(final.output_text).toBe('Too sh');
  });

  it('fails if its model fails: streamed as response.failed, and in one piece with its error', async () => {
    const { final, events } = await server.stream({ input: 'say and cut' });
    expect(events.at(-1)!.type).toBe('response.failed');
    expect(final).toMatchObject({ status: 'failed', error: { code: expect.any(String) } });
    expect(final.output_text).toBe('You said: say and cut');
    expect(await server.create({ input: 'cut' })).toMatchObject({ status: 'failed', output: [] });
  });
});

describe('a request', () => {
  const last = () => server.requests.at(-1)!;

  it('reaches the model with its instructions, which later responses do not have', async () => {
    const first = await server.create({ input: 'hello', instructions: 'Be a pirate.', max_output_tokens: 100 });
    expect(last().system).toMatch(/Be a pirate\.$/u);
    expect(last().maxOutputTokens).toBe(100);
    await server.create({ input: 'again', previous_response_id: first.id });
    expect(last().system).not.toContain('pirate');
    expect(JSON.stringify(last().conversation)).not.toContain('pirate');
    expect(last().maxOutputTokens).toBeUndefined();
  });

  it('may contain a whole conversation, with messages of every role, images and answered calls', async () => {
    const response = await server.create({
      input: [
        { role: 'system', content: 'You count.' },
        { role: 'developer', content: [{ type: 'input_text', text: 'Slowly.' }] },
        { role: 'user', content: 'one' },
        { type: 'function_call', call_id: 'call_old', name: 'lookup', arguments: '{}' },
        { type: 'function_call_output', call_id: 'call_old', output: 'found' },
        { role: 'assistant', content: 'two' },
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'three' },
            { type: 'input_image', image_url: `data:image/png;base64,${PIXEL}`, detail: 'auto' },
          ],
        },
      ],
    });
    expect(response.error).toBeNull();
    expect(response.output_text).toBe('Answer 2 to: three');
    const { conversation } = last();
    expect(conversation.map((item) => (item.type === 'message' ? item.role : item.type))).toEqual([
      'system',
      'system',
      'user',
      'function_call',
      'function_call_output',
      'assistant',
      'user',
    ]);
    expect(conversation.at(-1)).toMatchObject({ images: [{ media_type: 'image/png', data: PIXEL }] });
  });

  it('may contain PDFs and recordings, which its input items show', async () => {
    const pdf = `data:application/pdf;base64,${Buffer.from('%PDF-1.7').toString('base64')}`;
    const data = Buffer.from('ID3', 'latin1').toString('base64');
    const content = [
      { type: 'input_text', text: 'read' },
      { type: 'input_file', filename: 'a.pdf', file_data: pdf },
      { type: 'input_audio', input_audio: { data, format: 'mp3' } },
    ];
    const response = await server.create({ input: [{ role: 'user', content }] as never });
    expect(response.error).toBeNull();
    expect(last().conversation.at(-1)).toMatchObject({
      files: [
        { name: 'a.pdf', media_type: 'application/pdf' },
        { media_type: 'audio/mpeg', data },
      ],
    });
    const { data: items } = await server.client.responses.inputItems.list(response.id);
    expect(items[0]).toMatchObject({ content });
  });

  it('may name the agent’s model instead of the agent, or omit it for the server’s first agent', async () => {
    expect(await server.create({ model: HELPER_MODEL, input: 'hello' })).toMatchObject({ status: 'completed' });
    expect(last().conversation.at(-1)).toMatchObject({ content: 'hello' });
    const demo = await server.client.responses.create({ input: 'hello' });
    expect(demo.model).toBe('demo');
    expect(demo.output_text).toContain('scripted model');
  });

  it('in the background is answered at once, and its response is read later', async () => {
    const begun = await server.create({ input: 'hello', background: true });
    expect(['queued', 'in_progress', 'completed']).toContain(begun.status);
    const events: { type: string; sequence_number: number }[] = [];
    for await (const event of await server.client.responses.retrieve(begun.id, { stream: true })) events.push(event);
    expect(events.at(-1)!.type).toBe('response.completed');
    const rest: unknown[] = [];
    const behind = await server.client.responses.retrieve(begun.id, { stream: true, starting_after: 4 });
    for await (const event of behind) rest.push(event);
    expect(rest).toEqual(events.slice(5));
    expect(await server.client.responses.retrieve(begun.id)).toMatchObject({ status: 'completed', background: true });
  });

  it('that must not be stored leaves no data', async () => {
    const response = await server.create({ input: 'secret', store: false });
    expect(response).toMatchObject({ status: 'completed', store: false });
    await expect(server.client.responses.retrieve(response.id)).rejects.toMatchObject({ status: 404 });
    const { body } = await server.call('GET', '/api/v2/threads?text=secret');
    expect(body.data).toEqual([]);
  });
});

describe('a client that disconnects', () => {
  it.each([true, false])('ends its run: streamed %s', async (stream) => {
    const before = new Set((await server.stores.runs.list({ limit: 500 })).runs.map(({ runId }) => runId));
    const abort = new AbortController();
    const sent = server.client.responses.create(
      { model: 'helper', input: 'say, slow', stream },
      { signal: abort.signal },
    );
    const outcome = Promise.resolve(sent).then(
      async (answer) => {
        for await (const _event of answer as AsyncIterable<unknown>);
        return 'ended';
      },
      () => 'aborted',
    );
    const isNew = async () =>
      (await server.stores.runs.list({ limit: 500 })).runs.find(
        ({ runId, state }) => !before.has(runId) && state === 'running',
      );
    const { runId } = await until(isNew);
    await until(async () => {
      const { events } = await server.stores.threads.readEvents(runId);
      return events.find(({ payload }) => payload.type === 'item_delta');
    });
    abort.abort();
    await outcome;
    const ended = await until(async () => {
      const run = (await server.stores.runs.get(runId))!;
      return isFinalRunState(run.state) ? run : undefined;
    });
    expect(ended.state).toBe('cancelled');
  });
});

describe('a server that is stopped', () => {
  it.each([true, false])(
    'reports that the response continues, and has it after a restart: streamed %s',
    async (stream) => {
      const first = await openResponsesServer({ drainMs: 1 });
      const sent = Promise.resolve(first.client.responses.create({ model: 'helper', input: 'say, slow', stream })).then(
        async (answer) => {
          for await (const _event of answer as AsyncIterable<unknown>);
        },
      );
      const failed = sent.then(
        () => undefined,
        (error: Error) => error,
      );
      const { runId } = await until(async () => (await first.stores.runs.list({ state: 'running' })).runs[0]);
      await until(async () => (await first.stores.threads.readEvents(runId)).events[2]);
      await first.close({ keepsData: true });
      expect((await failed)?.message).toContain('so the response was interrupted');
      const second = await openResponsesServer({ folder: first.folder });
      const response = await second.client.responses.retrieve(`resp_${runId}`);
      expect(['queued', 'in_progress']).toContain(response.status);
      expect(await second.client.responses.cancel(response.id)).toMatchObject({ status: 'cancelled' });
      await second.close();
    },
  );
});
