import { expect, test } from 'vitest';
import { z } from 'zod';
import { runAgent } from '#core/agent/index.js';
import { defineTool } from '#core/index.js';
import type { EventPayload, FunctionCallItem, ModelProvider, ModelRequest } from '#core/protocol/index.js';
import { collectRun, openWorld } from './running.js';

/** A custom provider of the host, whose first answer has these calls, unchanged. */
function calling(...calls: readonly Partial<FunctionCallItem>[]): ModelProvider & { requests: ModelRequest[] } {
  const requests: ModelRequest[] = [];
  return {
    api: 'mine',
    model: 'm',
    capabilities: { stopSequences: false, customTools: false },
    requests,
    async *stream(request): AsyncGenerator<EventPayload> {
      requests.push(request);
      yield { type: 'response_start' };
      for (const [index, members] of requests.length > 1 ? [] : calls.entries()) {
        const id = `item_${index}`;
        const call = { type: 'function_call', id, call_id: `call_${index}`, name: 'put', arguments: '{}', ...members };
        yield { type: 'item_start', item_id: id, item_type: 'function_call' };
        yield { type: 'item_done', item_id: id, final_item: call as FunctionCallItem };
      }
      yield { type: 'response_done', status: 'completed' };
    },
  };
}

/** `put` writes its arguments, all of them optional; `ping` has no arguments. */
async function run(...calls: readonly Partial<FunctionCallItem>[]) {
  const done: string[] = [];
  const tool = (name: string, input: z.ZodObject) =>
    defineTool({
      name,
      description: `The tool ${name}`,
      effect: 'write',
      approval: 'never',
      input,
      execute: (value) => {
        done.push(`${name} ${JSON.stringify(value)}`);
        return { done: true };
      },
    });
  const tools = [tool('put', z.object({ text: z.string().optional() })), tool('ping', z.object({}))];
  const { harness } = openWorld({ tools: tools as never });
  const provider = calling(...calls);
  const agent = { slug: 'tester', functions: 'all' as const, maxTurns: 5 };
  const played = await collectRun(runAgent({ provider, harness, agent, input: 'Go.' }));
  const outputs = played.history.flatMap((item) => (item.type === 'function_call_output' ? [item.output] : []));
  return { ...played, done, outputs, requests: provider.requests };
}

test('a call without arguments runs only if the tool takes none; otherwise the model reads the error', async () => {
  const { done, outputs } = await run({ arguments: '' }, { name: 'ping', arguments: '' });
  expect(done).toEqual(['ping {}']);
  expect(outputs[0]).toContain('Send the call again with all of its arguments');
});

test('a call whose arguments are not a complete JSON object never runs, and the model reads why', async () => {
  for (const text of ['{"text":', '{"text":"a"}{"text":"a"}', '[]', '"a"', 'null']) {
    const { done, outputs } = await run({ arguments: text });
    expect(done).toEqual([]);
    expect(outputs).toEqual([expect.stringContaining('not a complete JSON object')]);
  }
});

test('a call that names no tool is ignored, without another request', async () => {
  const { done, requests, response, history } = await run({ name: '' });
  expect([done, requests.length, response.status]).toEqual([[], 1, 'completed']);
  expect(history.filter(({ type }) => type === 'function_call')).toEqual([]);
});

test('two calls with the same id in an answer run once', async () => {
  const { done } = await run({ call_id: 'a', arguments: '{"text":"a"}' }, { call_id: 'a', arguments: '{"text":"a"}' });
  expect(done).toEqual(['put {"text":"a"}']);
});
