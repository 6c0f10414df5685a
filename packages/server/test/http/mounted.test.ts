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
    demo: true,
    auth: { token: TOKEN },
    logger: false,
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

describe('the base path', () => {
  it('is compared by whole segments', async () => {
    const service = await createServer({ stores: 'memory:', auth: { token: TOKEN }, basePath: '/agents' });
    closers.push(() => service.close());
    const statusOf = async (url: string) =>
      (await service.inject({ url, headers: { authorization: `Bearer ${TOKEN}`, host: 'localhost' } })).statusCode;
    expect(await statusOf('/agents/metrics')).toBe(200);
    expect(await statusOf('/agents')).toBe(200);
    expect(await statusOf('/agents?x')).toBe(200);
    expect(await statusOf('/agentsmetrics')).toBe(404);
    expect(await statusOf('/agents-old/metrics')).toBe(404);
  });
});

describe('a body that the app has read', () => {
  async function mounted(left: (body: Buffer) => object) {
    const handler = await open('/agents');
    const app = createHttpServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => handler(Object.assign(request, left(Buffer.concat(chunks))), response));
    });
    await new Promise<void>((resolve) => app.listen(0, '127.0.0.1', resolve));
    closers.push(
      () => new Promise((resolve) => app.close(resolve)),
      () => app.closeAllConnections(),
    );
    return `http://127.0.0.1:${(app.address() as AddressInfo).port}/agents`;
  }

  it.each([
    [
      'parsed JSON',
      (body: Buffer) => ({ body: body.length === 0 ? undefined : (JSON.parse(body.toString()) as unknown) }),
    ],
    ['text', (body: Buffer) => ({ body: body.toString() })],
    ['bytes', (body: Buffer) => ({ rawBody: body, body: {} })],
  ])('is used if the app has left it as %s', async (_name, left) => {
    expect(await submitAt(await mounted(left))).toMatchObject({ status: 202 });
  });

  it('is refused at once if it is gone', async () => {
    const url = await mounted(() => ({}));
    const response = await fetch(`${url}/api/v2/submit`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      body: '{"prompt":"hello"}',
    });
    expect(response.status).toBe(500);
    // Requests without a body lack nothing.
    const headers = { authorization: `Bearer ${TOKEN}` };
    expect((await fetch(`${url}/api/v2/threads`, { headers })).status).toBe(200);
    expect(await response.json()).toMatchObject({
      detail: expect.stringMatching(/has read the body of the request\. /u),
    });
  });
});
