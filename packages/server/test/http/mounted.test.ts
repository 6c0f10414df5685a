import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import fastify from 'fastify';
import { createServer, nodeHandler } from '@toolscript/server';
import { afterEach, describe, expect, it } from 'vitest';
import { TOKEN } from '../support/test-server.js';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function open(basePath?: string) {
  const service = await createServer({
    stores: 'memory:',
    auth: { token: TOKEN },
    ...(basePath === undefined ? {} : { basePath }),
  });
  closers.push(() => service.close());
  return nodeHandler(service);
}

async function submitAt(url: string) {
  const response = await fetch(`${url}/api/v2/submit`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    body: '{"prompt":"hello"}',
  });
  const { runId } = (await response.json()) as { runId: string };
  const stream = await fetch(`${url}/api/v2/stream/${runId}`, { headers: { authorization: `Bearer ${TOKEN}` } });
  return { status: response.status, events: await stream.text() };
}

describe('a server in another app', () => {
  it('answers below its base path, streams included, as a handler of Node', async () => {
    const handler = await open('/agents');
    const app = createHttpServer(handler);
    await new Promise<void>((resolve) => app.listen(0, '127.0.0.1', resolve));
    closers.push(
      () => new Promise((resolve) => app.close(resolve)),
      () => app.closeAllConnections(),
    );
    const { status, events } = await submitAt(`http://127.0.0.1:${(app.address() as AddressInfo).port}/agents`);
    expect(status).toBe(202);
    expect(events).toContain('event: response_done');
  });

  it('answers as a route of a Fastify app that passes on its bodies unread', async () => {
    const handler = await open('/agents');
    const app = fastify();
    await app.register(async (scope) => {
      scope.removeAllContentTypeParsers();
      scope.addContentTypeParser('*', (_request, _body, done) => done(null));
      scope.all('/agents/*', (request, reply) => {
        reply.hijack();
        handler(request.raw, reply.raw);
      });
    });
    const url = await app.listen({ host: '127.0.0.1', port: 0 });
    closers.push(() => app.close());
    const { status, events } = await submitAt(`${url}/agents`);
    expect(status).toBe(202);
    expect(events).toContain('event: response_done');
  });
});
