import { KeyFolder, makeApiKey, type McpEndpoint } from '@toolscript/server';
import { newFolder } from '@toolscript/testkit/folder';
import { until } from '@toolscript/testkit/until';
import { expect, it, onTestFinished } from 'vitest';
import { openTestServer, TOKEN } from '../support/test-server.js';

it('a stream of MCP counts for its principal, and ends after its key is revoked', async () => {
  const keys = new KeyFolder(newFolder());
  const { key, token } = makeApiKey({ principal: 'ada', scopes: ['read'], name: 'ci' });
  await keys.add(key);
  const mcp = {
    fetch: () =>
      Promise.resolve(
        new Response(
          new ReadableStream({ start: (stream) => stream.enqueue(new TextEncoder().encode(': open\n\n')) }),
          {
            headers: { 'content-type': 'text/event-stream' },
          },
        ),
      ),
    close: () => Promise.resolve(),
  };
  const server = await openTestServer({ mcp, auth: { token: TOKEN, keys }, limits: { streamsPerPrincipal: 1 } });
  onTestFinished(() => server.close());
  const ask = () => fetch(`${server.url}/mcp`, { headers: { authorization: `Bearer ${token}` } });
  const open = await ask();
  expect(open.status).toBe(200);
  expect((await ask()).status).toBe(429);
  await keys.delete(key.keyId);
  await expect(open.text()).rejects.toThrow();
});

it('a session of MCP ends after the key that began it is revoked, and those of other keys go on', async () => {
  const keys = new KeyFolder(newFolder());
  const made = ['one', 'other'].map((name) => makeApiKey({ principal: 'ada', scopes: ['read'], name }));
  for (const { key } of made) await keys.add(key);
  const [one, other] = made as [(typeof made)[0], (typeof made)[0]];
  const ended: (string | undefined)[] = [];
  const mcp: McpEndpoint = {
    fetch: async (_request, { caller, onSession }) => {
      const forget = onSession(() => {
        ended.push(caller.keyId);
        forget();
      });
      return Response.json({});
    },
    close: () => Promise.resolve(),
  };
  const server = await openTestServer({ mcp, auth: { token: TOKEN, keys } });
  onTestFinished(() => server.close());
  for (const { token } of made)
    await (await fetch(`${server.url}/mcp`, { headers: { authorization: `Bearer ${token}` } })).text();
  await keys.delete(one.key.keyId);
  await until(() => ended.length > 0);
  await keys.delete(other.key.keyId);
  await until(() => ended.length > 1);
  expect(ended).toEqual([one.key.keyId, other.key.keyId]);
});
