import { createHarness } from '@toolscript/core';
import { defineAgent } from '@toolscript/core/agent';
import type { ModelProvider } from '@toolscript/core/protocol';
import { scriptedModel } from '@toolscript/core/providers';
import type { ServedAgent } from '@toolscript/server';
import { sharedThreads } from '@toolscript/testkit/shared-threads';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestServer, type TestServer } from '../support/test-server.js';

const SCHEMA = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };

/** An agent that answers with its prompt, and repairs a wrong answer. */
function echoAgent(): ServedAgent & { close(): Promise<void> } {
  const agent = defineAgent({ slug: 'echo', provider: { api: 'openai-responses', model: 'model-1' } });
  const harness = createHarness({ ...sharedThreads(), tools: [] });
  const { api, model, capabilities } = scriptedModel({ turns: [] });
  const provider: ModelProvider = {
    api,
    model,
    capabilities,
    stream: (request, options) => {
      const messages = request.conversation.filter((item) => item.type === 'message');
      const isRepair = messages.at(-1)!.content.includes('does not fit');
      const text = isRepair ? '{"n":2}' : messages.findLast(({ role }) => role === 'user')!.content;
      return scriptedModel({ turns: [{ parts: [{ type: 'text', text }] }] }).stream(request, options);
    },
  };
  return {
    config: agent,
    capability: harness.capability,
    open: async () => ({ agent, provider, harness }),
    close: () => harness.close(),
  };
}

let server: TestServer;

beforeAll(async () => {
  server = await openTestServer({ agents: () => [echoAgent()] });
});

afterAll(() => server.close());

async function submit(body: object) {
  const { body: submitted } = await server.call('POST', '/api/v2/submit', { agentId: 'echo', ...body });
  const events = await server.follow(submitted.runId);
  return events.at(-1)!.payload;
}

describe('a submission with an outputSchema', () => {
  it('ends with the value of the answer', async () => {
    const last = await submit({ prompt: '{"n":1}', outputSchema: SCHEMA });
    expect(last).toMatchObject({ type: 'response_done', status: 'completed', output: { n: 1 } });
  });

  it('has a wrong answer repaired', async () => {
    const last = await submit({ prompt: 'one', outputSchema: SCHEMA });
    expect(last).toMatchObject({ status: 'completed', output: { n: 2 } });
  });

  it('is refused if the schema is not one, and nothing runs', async () => {
    const wrong = { prompt: 'one', agentId: 'echo', outputSchema: { type: 'number', minimum: 'a' } };
    const { status, body } = await server.call('POST', '/api/v2/submit', wrong);
    expect(status).toBe(400);
    expect(body.detail).toContain('The schema of the answer');
    const large = { ...wrong, outputSchema: { description: 'x'.repeat(100_000) } };
    expect((await server.call('POST', '/api/v2/submit', large)).body.detail).toContain('The maximum is 100000');
  });

  it('answers with text if it has none', async () => {
    expect(await submit({ prompt: 'one' })).not.toHaveProperty('output');
  });
});

it('a response with a json_schema has the value as its text, and repeats the format', async () => {
  const format = { type: 'json_schema', name: 'count', schema: SCHEMA };
  const { body } = await server.call('POST', '/v1/responses', { model: 'echo', input: 'one', text: { format } });
  expect(body).toMatchObject({ status: 'completed', text: { format: { ...format, description: null, strict: true } } });
  expect(body.output.at(-1).content[0].text).toBe('{"n":2}');
});
