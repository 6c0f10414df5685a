import type { ResponseFunctionToolCall } from 'openai/resources/responses/responses';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openResponsesServer, WEATHER, type ResponsesServer } from './support/responses-server.js';

let server: ResponsesServer;

beforeAll(async () => {
  server = await openResponsesServer();
});

afterAll(() => server.close());

const tools = [WEATHER];
type Output = readonly { readonly type: string }[];

function callsIn(output: Output): ResponseFunctionToolCall[] {
  return output.filter(({ type }) => type === 'function_call') as ResponseFunctionToolCall[];
}

const outputFor = (call_id: string, output = '64 degrees') =>
  ({ type: 'function_call_output', call_id, output }) as const;

describe('a function of the client', () => {
  it('is called in a completed response, and its output continues the conversation', async () => {
    const first = await server.create({ input: 'weather', tools });
    expect(first).toMatchObject({ status: 'completed', tools: [{ name: 'get_weather' }] });
    const [call, ...others] = callsIn(first.output);
    expect(others).toEqual([]);
    expect(call).toMatchObject({ name: 'get_weather', arguments: '{"location":"Oslo"}', status: 'completed' });
    const second = await server.create({
      previous_response_id: first.id,
      input: [outputFor(call!.call_id)],
      tools,
    });
    expect(second).toMatchObject({ output_text: 'I read: 64 degrees', previous_response_id: first.id });
    expect(server.requests.at(-1)!.conversation.map(({ type }) => type)).toEqual([
      'message',
      'function_call',
      'function_call_output',
    ]);
  });

  it('is called in a stream, whose deltas are its arguments', async () => {
    const { events, final } = await server.stream({ input: 'say the weather', tools });
    const deltas = events.flatMap((event) =>
      event.type === 'response.function_call_arguments.delta' ? [event.delta] : [],
    );
    const [call] = callsIn(final.output);
    expect(deltas.length).toBeGreaterThan(0);
    expect(deltas.join('')).toBe(call!.arguments);
    const done = events.find(({ type }) => type === 'response.function_call_arguments.done');
    expect(done).toMatchObject({ name: 'get_weather', arguments: call!.arguments });
    const input = [outputFor(call!.call_id)];
    const second = await server.stream({ previous_response_id: final.id, input, tools });
    expect(second.final.output_text).toBe('I read: 64 degrees');
  });

  it('may be called several times in one answer; every call needs its output', async () => {
    const first = await server.create({ input: 'weather of both', tools });
    const [oslo, rome] = callsIn(first.output);
    const one = [outputFor(oslo!.call_id)];
    await expect(server.create({ previous_response_id: first.id, input: one, tools })).rejects.toMatchObject({
      status: 400,
      code: 'tool_output_missing',
      message: expect.stringContaining(rome!.call_id),
    });
    const both = [outputFor(rome!.call_id, 'hot'), outputFor(oslo!.call_id, 'cold')];
    const second = await server.create({ previous_response_id: first.id, input: both, tools });
    expect(second.output_text).toBe('I read: hot | cold');
  });

  it('may be answered in a conversation that the client keeps, without a previous response', async () => {
    const first = await server.create({ input: 'weather', tools, store: false });
    const [call] = callsIn(first.output);
    const second = await server.create({
      input: [{ role: 'user', content: 'weather' }, ...first.output, outputFor(call!.call_id)] as never,
      tools,
      store: false,
    });
    expect(second.output_text).toBe('I read: 64 degrees');
  });

  it('works beside scripts of the same answer, which the server runs', async () => {
    const first = await server.create({ input: 'script and weather', tools });
    expect(first.output.map(({ type }) => type)).toEqual(['function_call']);
    const input = [outputFor(callsIn(first.output)[0]!.call_id)];
    const second = await server.create({ previous_response_id: first.id, input, tools });
    expect(second.output_text).toContain('42');
    expect(second.output_text).toContain('64 degrees');
  });

  it('may be required by name, or not offered', async () => {
    const named = { type: 'function', name: 'get_weather' } as const;
    await server.create({ input: 'weather', tools, tool_choice: named, parallel_tool_calls: false });
    expect(server.requests.at(-1)).toMatchObject({ toolChoice: { name: 'get_weather' }, parallelToolCalls: false });
    const none = await server.create({ input: 'weather', tools, tool_choice: 'none' });
    expect(none).toMatchObject({ tool_choice: 'none', output_text: 'Answer 1 to: weather' });
    const allowed = { type: 'allowed_tools', mode: 'auto', tools: [named] } as never;
    expect(callsIn((await server.create({ input: 'weather', tools, tool_choice: allowed })).output)).toHaveLength(1);
    await expect(server.create({ input: 'x', tool_choice: named })).rejects.toMatchObject({ param: 'tool_choice' });
  });

  it('cannot answer another call, such as one of the server', async () => {
    const first = await server.create({ input: 'hello' });
    const made = server.create({ previous_response_id: first.id, input: [outputFor('call_x')] });
    await expect(made).rejects.toMatchObject({ status: 400, code: 'tool_call_not_found' });
    const waiting = await server.create({ input: 'stamp', include: ['toolscript:script_execution'] as never });
    const script = (waiting.output as unknown as { type: string; call_id: string }[]).find(
      ({ type }) => type === 'toolscript:script_execution',
    )!;
    const forged = server.create({ previous_response_id: waiting.id, input: [outputFor(script.call_id)] });
    await expect(forged).rejects.toMatchObject({ status: 400, code: 'tool_call_not_found' });
  });
});
