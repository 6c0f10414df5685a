import { createServer, type ServerOptions } from '@toolscript/server';
import { afterEach, describe, expect, it } from 'vitest';
import { TOKEN } from '../support/test-server.js';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function open(options: Partial<ServerOptions> = {}) {
  const service = await createServer({
    stores: 'memory:',
    auth: { token: TOKEN },
    logger: false,
    demo: true,
    ...options,
  });
  closers.push(() => service.close());
  return service;
}

function requestTo(path: string, init: RequestInit = {}) {
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', ...init.headers };
  return new Request(`http://localhost${path}`, { ...init, headers });
}

async function submit(service: Awaited<ReturnType<typeof open>>, prompt: string) {
  const response = await service.fetch(
    requestTo('/api/v2/submit', { method: 'POST', body: JSON.stringify({ prompt }) }),
  );
  expect(response.status).toBe(202);
  return (await response.json()) as { runId: string; threadId: string };
}

describe('a server without a connection', () => {
  it('answers requests of the Fetch API, streams included', async () => {
    const service = await open();
    const { runId, threadId } = await submit(service, 'hello');
    const stream = await service.fetch(requestTo(`/api/v2/stream/${runId}`));
    expect(stream.headers.get('content-type')).toContain('text/event-stream');
    expect(await stream.text()).toContain('event: response_done');
    const thread = await service.fetch(requestTo(`/api/v2/threads/${threadId}`));
    expect(await thread.json()).toMatchObject({ runs: [{ runId, status: 'completed' }] });
  });

  it('sends the events of a run as they happen', async () => {
    const service = await open();
    const { runId } = await submit(service, 'approve');
    const stream = await service.fetch(requestTo(`/api/v2/stream/${runId}`));
    const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    while (!text.includes('event: approval_requested')) text += (await reader.read()).value ?? '';
    await reader.cancel();
  });

  it.each(['its request', 'its body'])('ends a stream when the app cancels %s', async (which) => {
    const service = await open({ limits: { streamsPerPrincipal: 1 } });
    const { runId } = await submit(service, 'approve');
    const stop = new AbortController();
    const path = `/api/v2/stream/${runId}`;
    const first = await service.fetch(requestTo(path, { signal: stop.signal }));
    expect((await service.fetch(requestTo(path))).status).toBe(429);
    if (which === 'its request') stop.abort();
    else await first.body!.cancel();
    await expect
      .poll(async () => {
        const second = await service.fetch(requestTo(path));
        await second.body?.cancel();
        return second.status;
      })
      .toBe(200);
  });

  it('gives null as the body of a response that has none', async () => {
    const service = await open({ auth: { token: TOKEN, origins: ['https://app.example.com'] } });
    const preflight = await service.fetch(
      requestTo('/api/v2/submit', {
        method: 'OPTIONS',
        headers: { origin: 'https://app.example.com', 'access-control-request-method': 'POST' },
      }),
    );
    expect([preflight.status, preflight.body]).toEqual([204, null]);
    const { body, status } = await service.fetch(requestTo('/healthz', { method: 'HEAD' }));
    expect([status, body]).toEqual([200, null]);
  });

  it('checks requests as those of a connection are checked', async () => {
    const service = await open({ basePath: '/agents' });
    const statusOf = async (path: string, init?: RequestInit, remoteAddress?: string) =>
      (await service.fetch(requestTo(path, init), { remoteAddress })).status;
    expect(await statusOf('/agents/api/v2/agents')).toBe(200);
    expect(await statusOf('/other')).toBe(404);
    expect(await statusOf('/agents/api/v2/agents', { headers: { authorization: 'Bearer wrong' } })).toBe(401);
    expect(await statusOf('/agents/api/v2/agents', { headers: { host: 'evil.example.com' } })).toBe(403);
    expect(await statusOf('/agents/api/v2/agents', {}, '192.0.2.7')).toBe(401);
    expect(await statusOf('/agents/api/v2/submit', { method: 'POST', body: '{' })).toBe(400);
    const large = `"${'x'.repeat(20 * 1024 * 1024)}"`;
    expect(await statusOf('/agents/api/v2/submit', { method: 'POST', body: large })).toBe(413);
  });
});

describe('the agent demo', () => {
  it('is offered only to those who ask for it', async () => {
    const service = await open({ demo: undefined });
    const agents = await service.fetch(requestTo('/api/v2/agents'));
    expect(await agents.json()).toEqual({ data: [] });
    const response = await service.fetch(requestTo('/api/v2/submit', { method: 'POST', body: '{"prompt":"hello"}' }));
    expect(await response.json()).toMatchObject({
      status: 404,
      detail: 'The server has no agents. Give createServer the option agents, or demo: true.',
    });
  });
});
