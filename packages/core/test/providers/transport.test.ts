import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { createProvider, OLLAMA_BASE_URL, type ProviderApi, type ProviderOptions } from '#core/providers/index.js';
import { proxyFor } from '#core/providers/transport/proxy.js';
import { delayBeforeRetry, requestedRetryDelay, retryPolicy } from '#core/providers/transport/failures.js';
import { ToolscriptUsageError, type EventPayload } from '#core/protocol/index.js';
import { APIS, ask, FakeClock, payloadsOf, user } from './asking.js';
import { streamOf } from './wire-text.js';

const REQUEST = { conversation: [user('Go')] };

const WHOLE = streamOf(
  { id: 'chatcmpl-1', choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: 'stop' }] },
  '[DONE]',
);

type Answer = Response | Error | ((signal: AbortSignal) => Promise<Response>);

interface Asked {
  url: string;
  headers: Headers;
  body: Record<string, unknown>;
}

/** A provider of Chat whose network is a list of answers. */
function over(
  answers: readonly Answer[],
  options: Partial<Omit<ProviderOptions, 'clock'>> & { api?: ProviderApi; clock?: FakeClock } = {},
) {
  const { api = 'openai-chat', ...others } = options;
  const asked: Asked[] = [];
  const clock = options.clock ?? new FakeClock((ms) => ms < 100_000);
  const provider = createProvider(api, {
    model: 'model-1',
    environment: {},
    async fetch(url, init) {
      const answer = answers[asked.length];
      asked.push({
        url,
        headers: new Headers(init.headers),
        body: JSON.parse(init.body as string) as Record<string, unknown>,
      });
      if (answer === undefined) throw new Error('Nobody expected this request.');
      if (typeof answer === 'function') return answer(init.signal!);
      if (answer instanceof Error) throw answer;
      return answer;
    },
    ...others,
    clock,
  });
  return { provider, asked, clock };
}

const ok = (body: string | ReadableStream<Uint8Array> = WHOLE): Response =>
  new Response(body, { headers: { 'x-request-id': 'req_1' } });

const status = (code: number, body = '', headers: Record<string, string> = {}): Response =>
  new Response(body, { status: code, headers });

const errorOf = (payloads: readonly EventPayload[]): Record<string, unknown> =>
  payloads.find(({ type }) => type === 'response_error') ?? {};

describe('retries', () => {
  test.each([408, 409, 429, 500, 502, 503, 504, 529])('status %i is retried', async (code) => {
    const { provider, asked } = over([status(code), ok()]);
    expect((await ask(provider, REQUEST)).status).toBe('completed');
    expect(asked).toHaveLength(2);
  });

  test.each([400, 401, 403, 404, 413, 422])('status %i is reported at once', async (code) => {
    const { provider, asked } = over([status(code, '{"error":{"message":"No.","code":"nope"}}')]);
    const payloads = await payloadsOf(provider, REQUEST);
    expect(asked).toHaveLength(1);
    expect(payloads.map(({ type }) => type)).toEqual(['response_start', 'response_error', 'response_done']);
    expect(errorOf(payloads)).toMatchObject({ code: 'nope', message: `${code}: No.`, status: code, retryable: false });
  });

  test('a network failure is retried, and finally reported with its cause', async () => {
    const fail = (): Error => new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED 127.0.0.1:9') });
    const { provider, asked } = over([fail(), fail(), fail(), fail()]);
    const error = errorOf(await payloadsOf(provider, REQUEST));
    expect(asked).toHaveLength(4);
    expect(error).toMatchObject({ code: 'ConnectionFailed', retryable: true, attempts: 4 });
    expect(error.message).toContain('ECONNREFUSED');
  });

  test('the provider’s own retry header takes precedence, and an unpaid account is not retried', async () => {
    const should = over([status(400, '', { 'x-should-retry': 'true' }), ok()]);
    expect((await ask(should.provider, REQUEST)).status).toBe('completed');
    const not = over([status(503, '', { 'x-should-retry': 'false' })]);
    expect(errorOf(await payloadsOf(not.provider, REQUEST))).toMatchObject({ retryable: false });
    const quota = over([status(429, '{"error":{"code":"insufficient_quota","message":"Pay."}}')]);
    expect(errorOf(await payloadsOf(quota.provider, REQUEST))).toMatchObject({
      code: 'insufficient_quota',
      retryable: false,
    });
  });

  test('delays grow, are random, and have a maximum', () => {
    const clock = new FakeClock();
    const failure = { code: 'x', message: 'x', retryable: true };
    const policy = retryPolicy({ maxRetries: 10, maxDelayMs: 3000 });
    const delays = (): unknown[] => [0, 1, 2, 3, 4].map((made) => delayBeforeRetry(failure, made, policy, clock));
    clock.chance = 0.999;
    expect(delays()).toEqual([499, 999, 1998, 2997, 2997]);
    clock.chance = 0;
    expect(delays()).toEqual([0, 0, 0, 0, 0]);
    expect(delayBeforeRetry(failure, 10, policy, clock)).toBeUndefined();
    expect(delayBeforeRetry({ ...failure, retryable: false }, 0, policy, clock)).toBeUndefined();
  });

  test('a delay that the provider requests is used: in ms, in seconds, as a date', async () => {
    const clock = new FakeClock((ms) => ms < 100_000);
    const at = (headers: Record<string, string>): number | undefined =>
      requestedRetryDelay(new Headers(headers), clock);
    expect(at({ 'retry-after-ms': '1500', 'retry-after': '9' })).toBe(1500);
    expect(at({ 'retry-after': '2.5' })).toBe(2500);
    expect(at({ 'retry-after': new Date(clock.time + 7000).toUTCString() })).toBe(7000);
    expect(at({ 'retry-after': new Date(clock.time - 7000).toUTCString() })).toBe(0);
    expect(at({ 'retry-after': 'soon' })).toBeUndefined();
    const { provider } = over([status(429, '', { 'retry-after': '17' }), ok()], { clock });
    await ask(provider, REQUEST);
    expect(clock.waits).toContain(17_000);
  });

  test('a provider that requests too long a delay is not retried, and the delay is reported', async () => {
    const { provider, asked } = over([status(429, '', { 'retry-after': '3600' })]);
    expect(errorOf(await payloadsOf(provider, REQUEST))).toMatchObject({ retryable: true, retry_after_ms: 3_600_000 });
    expect(asked).toHaveLength(1);
  });

  test('nothing is retried after an event of the answer was emitted', async () => {
    const begun = streamOf({ id: 'c', choices: [{ index: 0, delta: { content: 'Hi' } }] });
    const { provider, asked } = over([ok(begun), ok()]);
    expect(errorOf(await payloadsOf(provider, REQUEST))).toMatchObject({
      code: 'AnswerTruncated',
      request_id: 'req_1',
    });
    expect(asked).toHaveLength(1);
  });

  test('an answer that fails before any content is retried', async () => {
    const overloaded = streamOf({ type: 'error', error: { type: 'overloaded_error', message: 'Later.' } });
    const { provider, asked } = over([ok(overloaded), ok(''), ok()]);
    expect((await ask(provider, REQUEST)).status).toBe('completed');
    expect(asked).toHaveLength(3);
  });

  test('an abort ends a wait', async () => {
    const abort = new AbortController();
    const clock = new FakeClock();
    const { provider, asked } = over([status(503)], { clock });
    const reading = payloadsOf(provider, REQUEST, { signal: abort.signal });
    await new Promise((resolve) => setTimeout(resolve, 20));
    abort.abort();
    expect((await reading).at(-1)).toMatchObject({ type: 'response_done', status: 'cancelled' });
    expect(asked).toHaveLength(1);
  });

  test('an already aborted signal sends no request', async () => {
    const { provider, asked } = over([]);
    const payloads = await payloadsOf(provider, REQUEST, { signal: AbortSignal.abort() });
    expect(payloads.map(({ type }) => type)).toEqual(['response_start', 'response_done']);
    expect(asked).toHaveLength(0);
  });
});

describe('time', () => {
  const never = (signal: AbortSignal): Promise<Response> =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));

  test('a provider that does not start to answer times out', async () => {
    const { provider, asked } = over([never, ok()], { connectTimeoutMs: 7, clock: new FakeClock((ms) => ms < 1000) });
    expect((await ask(provider, REQUEST)).status).toBe('completed');
    expect(asked).toHaveLength(2);
  });

  test('silence counts only while a chunk is awaited', async () => {
    const clock = new FakeClock();
    const { provider } = over([ok()], { clock, idleTimeoutMs: 60_000 });
    await ask(provider, REQUEST);
    expect(clock.waits.filter((ms) => ms === 60_000).length).toBeGreaterThan(0);
  });

  test('an endless error body does not delay the error', async () => {
    const endless = new ReadableStream({ pull: () => new Promise(() => {}) });
    const { provider } = over([new Response(endless, { status: 400 })], {
      clock: new FakeClock((ms) => ms === 10_000),
    });
    expect(errorOf(await payloadsOf(provider, REQUEST))).toMatchObject({ status: 400 });
  });

  test('a caller that stops reading closes the body', async () => {
    let cancelled = false;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.enqueue(
          new TextEncoder().encode(streamOf({ id: 'c', choices: [{ index: 0, delta: { content: 'x' } }] })),
        );
      },
      cancel() {
        cancelled = true;
      },
    });
    const { provider } = over([ok(body)]);
    for await (const { type } of provider.stream(REQUEST)) if (type === 'item_delta') break;
    expect(cancelled).toBe(true);
  });
});

describe('a whole answer', () => {
  const piece = (content: string): string =>
    streamOf({ id: 'chatcmpl-1', choices: [{ index: 0, delta: { content } }] });

  /** Sends much more data than any limit of these tests allows. */
  const endless = (onPiece: () => void = () => {}): Response => {
    let pieces = 0;
    return ok(
      new ReadableStream<Uint8Array>({
        pull(controller) {
          onPiece();
          pieces += 1;
          if (pieces > 2000) controller.close();
          else controller.enqueue(Buffer.from(piece('More. ')));
        },
      }),
    );
  };

  test('is not longer than its maximum, and the part before it is kept', async () => {
    const { provider, asked } = over([endless()], { maxAnswerBytes: 10_000 });
    const { error, output_items: items } = await ask(provider, REQUEST);
    expect(error).toMatchObject({ code: 'AnswerTooLarge', message: expect.stringContaining('Raise maxAnswerBytes') });
    expect(items).toMatchObject([
      { type: 'message', content: expect.stringContaining('More. More. '), cancelled: true },
    ]);
    expect(asked).toHaveLength(1);
  });

  test('that trickles endlessly ends at its time limit, and the earlier part is kept', async () => {
    const clock = new FakeClock();
    const trickle = endless(() => (clock.time += 1000));
    const { provider } = over([trickle], { clock, answerTimeoutMs: 60_000, idleTimeoutMs: 5000 });
    const { error, output_items: items } = await ask(provider, REQUEST);
    expect(error).toMatchObject({ code: 'AnswerTimeout', message: expect.stringContaining('Raise answerTimeoutMs') });
    expect(items).toMatchObject([{ content: expect.stringContaining('More. More. '), cancelled: true }]);
  });

  test.each([-3_600_000, 3_600_000])('has its full time even if the system clock jumps by %d ms', async (jumpMs) => {
    const clock = new FakeClock();
    const steady = endless(() => {
      clock.time += 1000;
      clock.jumpedMs = clock.time % 2000 === 0 ? jumpMs : 0;
    });
    const { provider } = over([steady], { clock, answerTimeoutMs: 60_000, idleTimeoutMs: 5000 });
    const { error, output_items: items } = await ask(provider, REQUEST);
    expect(error?.code).toBe('AnswerTimeout');
    const said = (items[0] as { content: string }).content;
    expect(said.length).toBeGreaterThan(100);
    expect(said.length).toBeLessThan(1000);
  });

  test('that is awaited ends at its time limit if that comes before the silence limit', async () => {
    const clock = new FakeClock((ms) => ms === 900);
    const silent = ok(
      new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(Buffer.from(piece('So'))) }),
    );
    const { provider } = over([silent], { clock, answerTimeoutMs: 900, idleTimeoutMs: 5000 });
    expect((await ask(provider, REQUEST)).error?.code).toBe('AnswerTimeout');
  });
});

describe('a key', () => {
  const make = (baseUrl: string, options: Partial<ProviderOptions> = {}) =>
    createProvider('openai-chat', { model: 'm', baseUrl, apiKey: 'sk-secret', environment: {}, ...options });
  const refusal = /the key would be sent unencrypted /u;

  test.each(['http://10.0.0.5/v1', 'http://models.example/v1', 'http://127.0.0.1.example/v1', 'http://[::2]/v1'])(
    'is not sent over plain HTTP to %s, unless the host allows it',
    (baseUrl) => {
      expect(() => make(baseUrl)).toThrow(refusal);
      expect(() => make(baseUrl)).toThrow('set allowInsecureHttp: true');
      expect(() => make(baseUrl, { apiKey: undefined as never, headers: { 'X-Api-Key': 'sk' } })).toThrow(refusal);
      make(baseUrl, { allowInsecureHttp: true });
      make(baseUrl.replace('http:', 'https:'));
      createProvider('openai-chat', { model: 'm', baseUrl, environment: {} });
    },
  );

  test.each(['http://127.0.0.1:8080/v1', 'http://127.9.9.9/v1', 'http://localhost:1/v1', 'http://[::1]:1/v1'])(
    'is sent to this machine: %s, but not through a proxy elsewhere',
    (baseUrl) => {
      make(baseUrl);
      expect(() => make(baseUrl, { environment: { http_proxy: 'http://proxy.example' } })).toThrow(/in NO_PROXY/u);
      make(baseUrl, { environment: { http_proxy: 'http://127.0.0.1:3128' } });
      make(baseUrl, { environment: { http_proxy: 'http://proxy.example', no_proxy: '*' } });
    },
  );
});

describe('errors', () => {
  test('a body that is not JSON, a list, or empty is reported as well as possible', async () => {
    const message = async (body: string): Promise<unknown> =>
      errorOf(await payloadsOf(over([status(400, body)]).provider, REQUEST)).message;
    expect(await message('<h1>Bad gateway</h1>')).toBe('400: <h1>Bad gateway</h1>');
    expect(await message('[{"error":{"message":"Listed."}}]')).toBe('400: Listed.');
    expect(await message('')).toBe('400: The provider gave no reason.');
    expect(String(await message('x'.repeat(100_000))).length).toBeLessThan(600);
  });

  test('a redirect is not followed, because the key would be sent along', async () => {
    const { provider, asked } = over([status(307, '', { location: 'https://elsewhere.example/' })]);
    expect(errorOf(await payloadsOf(provider, REQUEST))).toMatchObject({ code: 'ProviderRedirect', retryable: false });
    expect(asked).toHaveLength(1);
  });

  test('no event contains a key, whatever a provider repeats', async () => {
    const apiKey = 'sk-very-secret-1';
    const headers = { 'X-Team-Token': 'team-secret-2' };
    const said = JSON.stringify({ error: { message: `Wrong key ${apiKey} of team-secret-2`, [apiKey]: [apiKey] } });
    const inBand = streamOf({ error: { message: `No ${apiKey}`, code: 'bad' } });
    for (const answer of [status(401, said), ok(inBand), new Error(`tunnel ${apiKey}`)]) {
      const { provider, asked } = over([answer], { apiKey, headers, retries: { maxRetries: 0 } });
      const told = JSON.stringify(await payloadsOf(provider, REQUEST));
      expect(told).toContain('[redacted]');
      expect(told).not.toMatch(/very-secret-1|team-secret-2/u);
      expect(asked[0]!.headers.get('authorization')).toBe(`Bearer ${apiKey}`);
    }
  });
});

describe('requests', () => {
  const urlOf = async (api: ProviderApi, baseUrl?: string): Promise<string> => {
    const { provider, asked } = over([status(400)], { api, ...(baseUrl === undefined ? {} : { baseUrl }) });
    await payloadsOf(provider, REQUEST);
    return asked[0]!.url;
  };

  test('are sent to the provider’s own address, or below the given one', async () => {
    expect(await urlOf('openai-responses')).toBe('https://api.openai.com/v1/responses');
    expect(await urlOf('openai-chat')).toBe('https://api.openai.com/v1/chat/completions');
    expect(await urlOf('anthropic-messages')).toBe('https://api.anthropic.com/v1/messages');
    expect(await urlOf('openai-chat', OLLAMA_BASE_URL)).toBe('http://127.0.0.1:11434/v1/chat/completions');
    expect(await urlOf('anthropic-messages', 'https://x.example/anthropic/')).toBe(
      'https://x.example/anthropic/v1/messages',
    );
    expect(await urlOf('anthropic-messages', 'https://x.example/v1')).toBe('https://x.example/v1/messages');
    expect(await urlOf('openai-chat', 'https://x.example/o?api-version=1')).toBe(
      'https://x.example/o/chat/completions?api-version=1',
    );
  });

  test('carry the key in each provider’s form, and a caller’s headers override ours', async () => {
    const headersOf = async (api: ProviderApi, options: Partial<Omit<ProviderOptions, 'clock'>>): Promise<Headers> => {
      const { provider, asked } = over([status(400)], { api, ...options });
      await payloadsOf(provider, REQUEST);
      return asked[0]!.headers;
    };
    const anthropic = await headersOf('anthropic-messages', { apiKey: 'key-1', headers: { 'anthropic-beta': 'b' } });
    expect(Object.fromEntries(anthropic)).toMatchObject({
      'x-api-key': 'key-1',
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'b',
    });
    expect((await headersOf('openai-chat', {})).has('authorization')).toBe(false);
    const own = await headersOf('openai-chat', { apiKey: 'key-1', headers: { Authorization: 'Basic x' } });
    expect(own.get('authorization')).toBe('Basic x');
  });

  test('name the maximum output as the server does', async () => {
    const bodyOf = async (baseUrl?: string): Promise<object> => {
      const { provider, asked } = over([status(400)], baseUrl === undefined ? {} : { baseUrl });
      await payloadsOf(provider, { ...REQUEST, maxOutputTokens: 9 });
      return asked[0]!.body;
    };
    expect(await bodyOf()).toMatchObject({ max_completion_tokens: 9 });
    expect(await bodyOf(OLLAMA_BASE_URL)).toMatchObject({ max_tokens: 9 });
  });

  test('accept members that only one server knows', async () => {
    const { provider, asked } = over([status(400)], { extraBody: { keep_alive: '5m' } });
    await payloadsOf(provider, REQUEST);
    expect(asked[0]!.body).toMatchObject({ keep_alive: '5m', model: 'model-1' });
  });

  test.each(APIS)('%s: a mistake of the host is thrown at once', (api) => {
    expect(() => createProvider(api, { model: '' })).toThrow(ToolscriptUsageError);
    expect(() => createProvider(api, { model: 'm', baseUrl: 'api.example' })).toThrow(/not an absolute URL/u);
    expect(() => createProvider(api, { model: 'm', baseUrl: 'file:///x' })).toThrow(/http:/u);
    expect(() => createProvider(api, { model: 'm', baseUrl: 'https://me:secret@x.example' })).toThrow(
      /user name or password/u,
    );
    expect(() => createProvider(`${api}-2` as ProviderApi, { model: 'm' })).toThrow(/Unknown api/u);
  });
});

describe('proxies', () => {
  const servers: Server[] = [];
  afterEach(() => {
    for (const server of servers.splice(0)) server.close().closeAllConnections();
  });

  async function listen(server: Server): Promise<number> {
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return (server.address() as AddressInfo).port;
  }

  test('are those of the usual variables, except for the hosts in NO_PROXY', () => {
    const environment = {
      HTTPS_PROXY: 'http://p:1',
      http_proxy: 'q:2',
      NO_PROXY: 'a.example, .b.example;x *.c.example d.example:8443',
    };
    const proxy = (url: string): string | undefined => proxyFor(new URL(url), environment);
    expect(proxy('https://x.example')).toBe('http://p:1');
    expect(proxy('http://x.example')).toBe('http://q:2');
    for (const host of ['a.example', 'sub.a.example', 'c.example', 'x.c.example', 'd.example:8443']) {
      expect(proxy(`https://${host}`)).toBeUndefined();
    }
    expect(proxy('https://nota.example')).toBe('http://p:1');
    expect(proxy('https://d.example')).toBe('http://p:1');
    expect(proxyFor(new URL('https://x.example'), { ...environment, NO_PROXY: '*' })).toBeUndefined();
    for (const no_proxy of ['::1', '[::1]', '[::1]:80']) {
      expect(proxyFor(new URL('http://[::1]'), { HTTP_PROXY: 'p', no_proxy })).toBeUndefined();
    }
    expect(proxyFor(new URL('http://[::1]'), { HTTP_PROXY: 'p', no_proxy: '[::1]:81' })).toBe('http://p');
    expect(proxyFor(new URL('https://x.example'), {})).toBeUndefined();
  });

  test('requests go through the proxy, on this Node too', async () => {
    const port = await listen(createServer((_, response) => response.end(WHOLE)));
    const tunnels: string[] = [];
    const proxy = createServer();
    proxy.on('connect', ({ url }, socket) => {
      tunnels.push(url!);
      const [host, to] = url!.split(':');
      const target = connect(Number(to), host, () => {
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
        target.pipe(socket);
        socket.pipe(target);
      });
      target.on('error', () => socket.destroy());
      socket.on('error', () => target.destroy());
    });
    const http_proxy = `http://127.0.0.1:${await listen(proxy)}`;
    const baseUrl = `http://127.0.0.1:${port}/v1`;
    const provider = createProvider('openai-chat', { model: 'm', baseUrl, environment: { http_proxy } });
    expect((await ask(provider, REQUEST)).status).toBe('completed');
    expect(tunnels).toEqual([`127.0.0.1:${port}`]);
  });

  test('an invalid proxy is the host’s mistake', () => {
    const environment = { HTTPS_PROXY: 'socks5://p:1' };
    expect(() => createProvider('openai-chat', { model: 'm', environment })).toThrow(/HTTP_PROXY or HTTPS_PROXY/u);
  });
});
