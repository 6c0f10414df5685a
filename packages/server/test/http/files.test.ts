import { filePlace } from '@toolscript/core/internal';
import type { Caller } from '@toolscript/server';
import { cabinetTools } from '../../../tools/dist/index.js';
import { beforeAll, afterAll, describe, expect, it } from 'vitest';
import { openStores } from '@toolscript/service/stores';
import { oneScriptAgent } from '../support/one-script-agent.js';
import { openTestServer, TOKEN, type TestServer } from '../support/test-server.js';
import { until } from '@toolscript/testkit/until';

const CALLERS: Readonly<Record<string, Caller>> = {
  ada: { principal: 'ada', scopes: ['read', 'run', 'approve'] },
  bob: { principal: 'bob', scopes: ['read', 'run', 'approve'] },
};

let server: TestServer;

beforeAll(async () => {
  const stores = await openStores('memory:');
  const agents: Parameters<typeof openTestServer>[0] = {
    stores,
    auth: { token: TOKEN, authenticate: (token: string) => CALLERS[token] },
    agents: (parts) => [
      oneScriptAgent(
        { ...parts, approvals: 'auto', moreTools: cabinetTools({ documents: stores.documents }) },
        '/dev/null',
      ),
    ],
  };
  server = { ...(await openTestServer(agents)), stores };
});

afterAll(() => server.close());

/** The value of a script that a user's agent runs. */
async function run(user: string, code: string, threadId?: string) {
  const headers = { authorization: `Bearer ${user}` };
  const body = { prompt: code, agentId: 'one-script', ...(threadId === undefined ? {} : { threadId }) };
  const { body: submitted, status } = await server.call('POST', '/api/v2/submit', body, headers);
  expect(status).toBe(202);
  await until(async () => ((await server.stores.runs.get(submitted.runId))?.state === 'completed' ? true : undefined));
  const { turns } = await server.stores.threads.readItems(submitted.threadId);
  const output = turns.at(-1)!.items.find(({ type }) => type === 'script_execution_output') as {
    result?: unknown;
    success: boolean;
  };
  return { threadId: submitted.threadId as string, output, items: turns.at(-1)!.items };
}

function ask(user: string, method: string, path: string): Promise<Response> {
  return fetch(`${server.url}${path}`, { method, headers: { authorization: `Bearer ${user}` } });
}

describe('the files of a thread', () => {
  it('are listed, shown in versions, downloaded as text, and deleted', async () => {
    const { threadId } = await run(
      'ada',
      `await tools.saveToFC({ name: 'notes/plan.md', text: '<script>1</script>', title: 'Plan' });
      return await tools.saveToFC({ name: 'notes/plan.md', text: 'two' });`,
    );
    const files = `/api/v2/threads/${threadId}/files`;
    const one = `${files}/${encodeURIComponent('notes/plan.md')}`;
    const list = await (await ask('ada', 'GET', files)).json();
    const newest = {
      fileKey: 'notes/plan.md',
      version: 2,
      bytes: 3,
      createdAt: expect.any(Number),
      source: { kind: 'script' },
    };
    expect(list).toEqual({ data: [newest] });
    const { data } = (await (await ask('ada', 'GET', one)).json()) as { data: unknown };
    expect(data).toEqual([newest, { ...newest, version: 1, bytes: 18, title: 'Plan' }]);
    const text = await ask('ada', 'GET', `${one}/text?version=1`);
    expect(await text.text()).toBe('<script>1</script>');
    expect(Object.fromEntries(text.headers)).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'content-disposition': `attachment; filename="plan.md"; filename*=UTF-8''plan.md`,
    });
    for (const path of [`${one}/text?version=3`, `${files}/none`, `${files}/none/text`])
      expect((await ask('ada', 'GET', path)).status).toBe(404);
    expect((await ask('ada', 'GET', `${one}/text?version=0`)).status).toBe(400);
    expect((await ask('ada', 'DELETE', one)).status).toBe(204);
    expect((await ask('ada', 'DELETE', one)).status).toBe(404);
    expect(await (await ask('ada', 'GET', files)).json()).toEqual({ data: [] });
  });

  it('have any key in a header and a path', async () => {
    const { threadId } = await server.stores.threads.create({ principal: 'ada' });
    for (const key of ['a"b;\r\nc', '\u{1f600} é', "x'()*", '../..', '\ud800', 'ÿ'.repeat(256)]) {
      await server.stores.documents.save({ ...filePlace(threadId, key), text: key });
      const path = `/api/v2/threads/${threadId}/files/${encodeURIComponent(key.replaceAll(/\p{Surrogate}/gu, '_'))}`;
      const { status, headers } = await ask('ada', 'GET', `${path}/text`);
      expect(status, key).toBe(key === '\ud800' ? 404 : 200);
      if (status === 200)
        expect(headers.get('content-disposition')).toMatch(
          /^attachment; filename="[\w.-]+"; filename\*=UTF-8''[\w.%!~-]+$/u,
        );
    }
  });

  it('are not found by another user', async () => {
    const { threadId } = await run('ada', `return await tools.saveToFC({ name: 'a', text: 'secret' });`);
    const files = `/api/v2/threads/${threadId}/files`;
    for (const [method, path] of [
      ['GET', files],
      ['GET', `${files}/a`],
      ['GET', `${files}/a/text`],
      ['DELETE', `${files}/a`],
    ] as const) {
      const answer = await ask('bob', method, path);
      expect(answer.status, path).toBe(404);
      expect(await answer.text()).not.toContain('secret');
    }
    const { output } = await run('bob', `return (await tools.listFC()).files;`);
    expect(output.result).toEqual([]);
    expect((await ask('ada', 'GET', `${files}/a/text`)).status).toBe(200);
  });

  it('are announced once to the next turn, and again when they have changed', async () => {
    const { threadId, items: first } = await run(
      'ada',
      `return await tools.saveToFC({ name: 'a', text: 'x', title: 'A\\ntitle' });`,
    );
    const announced = (items: readonly unknown[]) =>
      JSON.stringify(items.filter((item) => (item as { role?: string }).role === 'system'));
    expect(announced(first)).toBe('[]');
    const { items: second } = await run('ada', 'return 1;', threadId);
    expect(announced(second)).toContain(String.raw`- \"a\" version 1, 1 bytes, \"A title\"`);
    expect(
      announced((await run('ada', `return await tools.saveToFC({ name: 'a', text: 'xy' });`, threadId)).items),
    ).toBe('[]');
    expect(
      announced((await run('ada', `return await tools.deleteFromFC({ fileKey: 'a' });`, threadId)).items),
    ).toContain('version 2, 2 bytes');
    expect(announced((await run('ada', 'return 1;', threadId)).items)).toContain(String.raw`- \"a\": deleted`);
    expect(announced((await run('ada', 'return 1;', threadId)).items)).toBe('[]');
  });
});

describe('the values of a user', () => {
  it('are shared by the threads of the user, and never seen by another one', async () => {
    await run('ada', `return await tools.store.set({ key: 'k', value: 'of ada', scope: 'principal' });`);
    await run('bob', `return await tools.store.set({ key: 'k', value: 'of bob', scope: 'principal' });`);
    for (const user of ['ada', 'bob']) {
      const { output } = await run(
        user,
        `return [(await tools.store.get({ key: 'k', scope: 'principal' })).value, (await tools.store.list({ scope: 'principal' })).keys.length];`,
      );
      expect(output.result).toEqual([`of ${user}`, 1]);
    }
    await run('bob', `return await tools.store.delete({ key: 'k', scope: 'principal' });`);
    const { output } = await run('ada', `return (await tools.store.get({ key: 'k', scope: 'principal' })).value;`);
    expect(output.result).toBe('of ada');
  });
});
