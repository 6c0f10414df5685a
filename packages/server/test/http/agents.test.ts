import { HarnessAgents } from '@toolscript/server';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { openTestServer } from '../support/test-server.js';

describe('the list of agents', () => {
  afterEach(() => vi.unstubAllEnvs());

  it('marks the default agent', async () => {
    const server = await openTestServer();
    const { body } = await server.call('GET', '/api/v2/agents');
    await server.close();
    expect(body.data).toMatchObject([{ agentId: 'demo', isDefault: true }]);
  });

  it('reports an agent without a key, as its run does', async () => {
    vi.stubEnv('THE_KEY', '');
    onTestFinished(() => void vi.unstubAllEnvs());
    const config = { slug: 'writer', provider: { api: 'openai-chat', model: 'm', apiKeyEnv: 'THE_KEY' } } as const;
    const server = await openTestServer({
      agents: async (parts) => [
        ...(await new HarnessAgents({ agents: [config], harness: { ...parts, tools: [] } }).list()),
      ],
    });
    const { body } = await server.call('GET', '/api/v2/agents');
    const problem = 'The agent writer needs a key. Set the environment variable THE_KEY, and restart the server.';
    expect(body.data).toMatchObject([{ agentId: 'demo' }, { agentId: 'writer', isDefault: false, problem }]);
    const run = await server.call('POST', '/api/v2/submit', { prompt: 'Hello', agentId: 'writer' });
    const events = await server.follow(run.body.runId);
    await server.close();
    expect(events.map(({ payload }) => payload)).toContainEqual(expect.objectContaining({ message: problem }));
  });
});
