import { makeApiKey } from '@toolscript/server';
import { KeyFolder, type ModelConnections } from '@toolscript/server/access';
import { newFolder } from '@toolscript/testkit/folder';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestServer, TOKEN, type TestServer } from '../support/test-server.js';

const keys = new KeyFolder(newFolder());
const stored = new Map<string, string>();

/** A store of one provider, which accepts one key. */
const models: ModelConnections = {
  list: async () => [{ provider: 'openai', name: 'OpenAI', key: stored.has('openai') ? 'stored' : 'none' }],
  connect: async (provider, key) => {
    if (key !== 'right-key') return 'OpenAI rejects the key.';
    stored.set(provider, key);
    return ['gpt-a', 'gpt-b'];
  },
  remove: async (provider) => stored.delete(provider),
};

let server: TestServer;

beforeAll(async () => {
  server = await openTestServer({ auth: { token: TOKEN, keys }, models });
});

afterAll(() => server.close());

describe('the key of a provider', () => {
  it('is tested, stored, never answered or logged in the audit, and removed', async () => {
    const refused = await server.call('PUT', '/api/v2/providers/openai', { key: 'wrong-key' });
    expect([refused.status, refused.body.detail]).toEqual([422, 'OpenAI rejects the key.']);
    expect((await server.call('PUT', '/api/v2/providers/openai', { key: 'right-key' })).body).toEqual({
      models: ['gpt-a', 'gpt-b'],
    });
    const listed = await server.call('GET', '/api/v2/providers');
    expect(listed.body.data).toEqual([{ provider: 'openai', name: 'OpenAI', key: 'stored' }]);
    expect((await server.call('DELETE', '/api/v2/providers/openai')).status).toBe(204);
    expect((await server.call('DELETE', '/api/v2/providers/openai')).status).toBe(404);
    for (const path of ['unknown', 'constructor'])
      expect((await server.call('PUT', `/api/v2/providers/${path}`, { key: 'right-key' })).status).toBe(404);
    const audit = JSON.stringify((await server.call('GET', '/api/v2/audit')).body);
    expect(audit).toContain('"type":"provider_connected"');
    expect(audit).toContain('"provider":"openai"');
    expect(audit).not.toContain('-key');
  });

  it('is the business of administrators alone', async () => {
    const { key, token } = makeApiKey({ name: 'ada', principal: 'ada', scopes: ['read', 'run', 'approve'] });
    await keys.add(key);
    const headers = { authorization: `Bearer ${token}` };
    for (const [method, path, body] of [
      ['GET', '/api/v2/providers'],
      ['PUT', '/api/v2/providers/openai', { key: 'right-key' }],
      ['DELETE', '/api/v2/providers/openai'],
    ] as const)
      expect((await server.call(method, path, body, headers)).status, method).toBe(403);
    expect(stored.size).toBe(0);
  });
});
