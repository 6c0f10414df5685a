import { once } from 'node:events';
import { Readable } from 'node:stream';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import type { StreamEvent } from '@toolscript/core/protocol';
import { accessLimits, KeyFolder, makeApiKey, type Caller } from '@toolscript/server';
import fastify from 'fastify';
import { afterEach, describe, expect, it } from 'vitest';
import { OpenStreams } from '#server/http/open-streams.js';
import { sendEvents } from '#server/http/sse.js';
import { openTestServer, TOKEN, type TestServer, type TestServerOptions } from '../support/test-server.js';
import { until } from '@toolscript/testkit/until';

const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function open(options: TestServerOptions): Promise<TestServer> {
  const server = await openTestServer({ drainMs: 100, ...options });
  closers.push(() => server.close());
  return server;
}

async function follow(server: TestServer, runId: string, token = TOKEN): Promise<Response> {
  const stop = new AbortController();
  closers.push(() => stop.abort());
  return fetch(`${server.url}/api/v2/stream/${runId}`, {
    headers: { authorization: `Bearer ${token}` },
    signal: stop.signal,
  });
}

async function waitingRun(server: TestServer, headers = {}): Promise<string> {
  const { body } = await server.call('POST', '/api/v2/submit', { prompt: 'slow 500' }, headers);
  return body.runId;
}

describe('open streams of one principal', () => {
  it('are limited: one more gets 429, another principal has its own limit, and a closed one makes room', async () => {
    const authenticate = (token: string) => ({ principal: token, scopes: ['read', 'run'] as const });
    const server = await open({ auth: { token: TOKEN, authenticate }, limits: { streamsPerPrincipal: 2 } });
    const runs = {
      ada: await waitingRun(server, { authorization: 'Bearer ada' }),
      bob: await waitingRun(server, { authorization: 'Bearer bob' }),
    };
    const first = await follow(server, runs.ada, 'ada');
    expect((await follow(server, runs.ada, 'ada')).status).toBe(200);
    const refused = await follow(server, runs.ada, 'ada');
    expect(refused.status).toBe(429);
    expect(refused.headers.get('content-type')).toMatch(/^application\/problem\+json/u);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await refused.json()).toMatchObject({ detail: expect.stringMatching(/^You have 2 event streams open/u) });
    expect((await follow(server, runs.bob, 'bob')).status).toBe(200);
    await first.body!.cancel();
    await until(async () => (await follow(server, runs.ada, 'ada')).status === 200);
  });

  it('end when their key is revoked, and those of others go on', async () => {
    const server = await open({});
    const keys = new KeyFolder(join(server.folder, 'keys'));
    const keyed = await open({ auth: { token: TOKEN, keys } });
    const [one, other] = [1, 2].map(() => makeApiKey({ name: 'ci', principal: 'ada', scopes: ['read', 'run'] }));
    for (const { key } of [one!, other!]) await keys.add(key);
    const runId = await waitingRun(keyed, { authorization: `Bearer ${one!.token}` });
    const [ending, lasting] = [await follow(keyed, runId, one!.token), await follow(keyed, runId, other!.token)];
    const lastingEnd = lasting.text().catch(() => 'aborted');
    await keys.delete(one!.key.keyId);
    expect(await ending.text()).not.toContain('response_done');
    expect((await follow(keyed, runId, one!.token)).status).toBe(401);
    expect(await Promise.race([lastingEnd, Promise.resolve('open')])).toBe('open');
  });
});

describe('a response that stays open', () => {
  it.each(['hijacked', 'stream', 'web stream', 'response'])('fails if it is not registered: %s', async (kind) => {
    const streams = new OpenStreams(accessLimits(), undefined);
    const app = fastify({ logger: false });
    closers.push(() => app.close());
    app.decorateRequest('caller', null as unknown as Caller);
    app.addHook('onRequest', async (request) => {
      request.caller = { principal: 'ada', scopes: ['read'] };
    });
    streams.requireRegistration(app);
    app.get('/:registered', async (request, reply) => {
      const { registered } = request.params as { registered: string };
      if (registered === 'yes') streams.addResponse(request.caller, reply);
      if (kind === 'stream') return reply.send(Readable.from(['open']));
      if (kind === 'web stream') return reply.send(new Blob(['open']).stream());
      if (kind === 'response') return reply.send(new Response('open'));
      reply.hijack();
      reply.raw.end('open');
      return reply;
    });
    expect(await app.inject('/yes')).toMatchObject({ statusCode: 200, body: 'open' });
    expect(await app.inject('/no')).toMatchObject({ statusCode: 500 });
  });

  it('does not stay registered if its client is gone before', async () => {
    const streams = new OpenStreams(accessLimits(), undefined);
    const app = fastify({ logger: false });
    closers.push(() => app.close());
    let sizes: number[] = [];
    app.get('/', async ({ raw }, reply) => {
      raw.socket.destroy();
      await once(reply.raw, 'close');
      streams.addResponse({ principal: 'ada', scopes: ['read'] }, reply);
      sizes = [streams.size];
    });
    await app.listen({ host: '127.0.0.1', port: 0 });
    connectTo(app.server.address() as AddressInfo).write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await until(() => sizes.length === 1);
    await until(() => streams.size === 0);
    expect(sizes).toEqual([1]);
  });

  it('is registered by each route of the server: an export counts as a stream of its principal', async () => {
    const server = await open({ limits: { streamsPerPrincipal: 1 } });
    const runId = await waitingRun(server);
    expect((await follow(server, runId)).status).toBe(200);
    expect((await server.call('GET', '/api/v2/audit?format=jsonl')).status).toBe(429);
  });
});

describe('a client that reads nothing', () => {
  it('is dropped by a stream, which then ends', async () => {
    const app = fastify({ forceCloseConnections: true });
    closers.push(() => app.close());
    let sent = 0;
    let isEnded = false;
    async function* endless(): AsyncGenerator<StreamEvent> {
      try {
        for (; ; sent += 1) yield { seq: sent, payload: { type: 'item_delta', text: 'x'.repeat(60_000) } } as never;
      } finally {
        isEnded = true;
      }
    }
    app.get('/', async (_request, reply) => {
      const controller = new AbortController();
      await sendEvents(reply, endless(), { controller, stallMs: 200 });
      return reply;
    });
    await app.listen({ host: '127.0.0.1', port: 0 });
    connectTo(app.server.address() as AddressInfo).write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await until(() => isEnded);
    const sentUntilThen = sent;
    await until(async () => (await connectionsOf(app.server)) === 0);
    expect(sent).toBe(sentUntilThen);
  });

  it('is dropped by every other route', async () => {
    const server = await open({ limits: { stallTimeoutMs: 200 } });
    const { port } = new URL(server.url);
    const ask = 'GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n';
    const socket = connectTo({ port: Number(port) });
    // More answers than the buffers of the system hold.
    socket.write(ask.repeat(2_000));
    await until(async () => (await connectionsOf(server.app.server)) === 1);
    await until(async () => (await connectionsOf(server.app.server)) === 0);
    expect((await server.call('GET', '/healthz')).status).toBe(200);
  });
});

function connectTo({ port }: { port: number }): Socket {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  closers.push(() => socket.destroy());
  return socket;
}

function connectionsOf(server: TestServer['app']['server']): Promise<number> {
  return new Promise((resolve) => {
    server.getConnections((_error, count) => resolve(count));
  });
}
