import { KeyFolder, makeApiKey, type Scope } from '@toolscript/server';
import { newFolder } from '@toolscript/testkit/folder';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestServer, TOKEN, type TestServer } from '../support/test-server.js';

const keys = new KeyFolder(newFolder());
const WORKSPACE = '/shop';

let server: TestServer;

beforeAll(async () => {
  server = await openTestServer({ auth: { token: TOKEN, keys }, workspace: WORKSPACE });
});

afterAll(() => server.close());

/** Sends requests with a key of the principal. */
async function caller(principal: string, ...scopes: Scope[]) {
  const { key, token } = makeApiKey({ name: principal, principal, scopes });
  await keys.add(key);
  const headers = { authorization: `Bearer ${token}` };
  return (method: string, path: string, body?: unknown) => server.call(method, path, body, headers);
}

function save(
  kind: 'prompt' | 'snippet',
  scope: { kind: 'principal' | 'workspace' | 'thread'; id: string },
  name: string,
) {
  const about = { description: `about ${name}`, input: { type: 'object' }, secret: 'not shown' };
  return server.stores.documents.save({ scope, kind, name, text: `text of ${name}`, about });
}

describe('saved prompts and scripts', () => {
  it('are listed by owner, page by page, shown with their text, and deleted', async () => {
    const ada = await caller('ada', 'read', 'run');
    for (const name of ['b', 'a', 'c']) await save('snippet', { kind: 'principal', id: 'ada' }, name);
    await save('prompt', { kind: 'workspace', id: WORKSPACE }, 'shared');
    const { body } = await ada('POST', '/api/v2/submit', { prompt: 'hello' });
    await save('prompt', { kind: 'thread', id: body.threadId }, 'local');
    const names = async (path: string) =>
      ((await ada('GET', path)).body.data as { name: string }[]).map(({ name }) => name);
    const first = await ada('GET', '/api/v2/saved/snippet?limit=2');
    expect(first.body.data).toMatchObject([
      { name: 'a', scope: 'principal', version: 1, bytes: 9, description: 'about a', input: { type: 'object' } },
      { name: 'b' },
    ]);
    expect(JSON.stringify(first.body)).not.toContain('not shown');
    expect(await names(`/api/v2/saved/snippet?after=${first.body.next}`)).toEqual(['c']);
    expect(await names('/api/v2/saved/prompt?scope=workspace')).toEqual(['shared']);
    expect(await names(`/api/v2/saved/prompt?threadId=${body.threadId}`)).toEqual(['local']);
    expect((await ada('GET', '/api/v2/saved/snippet/a')).body).toMatchObject({ name: 'a', text: 'text of a' });
    expect((await ada('DELETE', '/api/v2/saved/snippet/a')).status).toBe(204);
    for (const method of ['GET', 'DELETE']) expect((await ada(method, '/api/v2/saved/snippet/a')).status).toBe(404);
    expect(await names('/api/v2/saved/snippet')).toEqual(['b', 'c']);
  });

  it('of other users are not found, and those of the workspace are deleted by administrators alone', async () => {
    const ada = await caller('ada', 'read', 'run');
    const bob = await caller('bob', 'read', 'run');
    const root = await caller('root', 'admin');
    await save('prompt', { kind: 'principal', id: 'ada' }, 'own');
    await save('prompt', { kind: 'workspace', id: WORKSPACE }, 'everybody');
    const { threadId } = (await ada('POST', '/api/v2/submit', { prompt: 'hello' })).body;
    await save('prompt', { kind: 'thread', id: threadId }, 'inside');
    expect((await bob('GET', '/api/v2/saved/prompt')).body.data).toEqual([]);
    for (const path of ['own', `inside?threadId=${threadId}`, `inside?scope=thread&threadId=${threadId}`])
      for (const method of ['GET', 'DELETE'])
        expect((await bob(method, `/api/v2/saved/prompt/${path}`)).status, path).toBe(404);
    for (const path of [`?threadId=${threadId}`, '?scope=thread'])
      expect((await bob('GET', `/api/v2/saved/prompt${path}`)).status, path).toBe(404);
    expect((await ada('DELETE', '/api/v2/saved/prompt/everybody?scope=workspace')).status).toBe(403);
    expect((await ada('GET', '/api/v2/saved/prompt/everybody?scope=workspace')).status).toBe(200);
    expect((await root('DELETE', '/api/v2/saved/prompt/everybody?scope=workspace')).status).toBe(204);
    expect((await ada('GET', '/api/v2/saved/value')).status).toBe(400);
  });
});
