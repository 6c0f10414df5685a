import { once } from 'node:events';
import { connect, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { KeyFolder, makeApiKey, type Scope } from '@toolscript/server';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { rawRequest, sendRaw, type RawAnswer } from '../support/raw-request.js';
import { openTestServer, TOKEN, type TestServer, type TestServerOptions } from '../support/test-server.js';

/** The server of most tests. */
let shared: TestServer;
let server: TestServer;

beforeAll(async () => {
  shared = await openTestServer();
  server = shared;
});

afterEach(async () => {
  if (server !== shared) await server.close();
  server = shared;
});

afterAll(() => shared.close());

/** Another server, for one test. */
async function open(options: TestServerOptions): Promise<void> {
  server = await openTestServer(options);
}

function send(lines: readonly string[], { line = 'GET /api/v2/threads HTTP/1.1', host = true, body = '' } = {}) {
  const port = (server.app.server.address() as AddressInfo).port;
  const own = host ? [`Host: 127.0.0.1:${port}`] : [];
  return sendRaw(server.url, rawRequest(line, [...own, ...lines], body));
}

const AUTHORISED = `Authorization: Bearer ${TOKEN}`;

function post(body: string, type = 'application/json', lines: readonly string[] = [AUTHORISED]) {
  const length = `Content-Length: ${Buffer.byteLength(body)}`;
  return send([...lines, `Content-Type: ${type}`, length], { line: 'POST /api/v2/submit HTTP/1.1', body });
}

/** Only a problem document, with one or two sentences that describe the problem. */
function expectProblem({ status, headers, body }: RawAnswer, expected: number, detail: string | RegExp): void {
  expect(status, body).toBe(expected);
  expect(headers['content-type']).toMatch(/^application\/problem\+json/u);
  const problem = JSON.parse(body);
  expect(problem).toMatchObject({ type: 'about:blank', status: expected, title: expect.any(String) });
  expect(problem.detail).toMatch(detail);
  expect(body).not.toMatch(/node_modules|packages\/|\bat [\w.]+ \(|FST_ERR/u);
}

describe('a token', () => {
  it.each([
    ['no token', []],
    ['an empty one', ['Authorization: Bearer ']],
    ['another scheme', [`Authorization: Basic ${TOKEN}`]],
    ['a token in place of the scheme', [`Authorization: ${TOKEN}`]],
    ['two tokens', [`Authorization: Bearer ${TOKEN} ${TOKEN}`]],
    ['a wrong one', [`Authorization: Bearer ${TOKEN}x`]],
    ['a beginning', [`Authorization: Bearer ${TOKEN.slice(0, -1)}`]],
    ['a key that there never was', [`Authorization: Bearer tsk_${'0'.repeat(16)}_${'a'.repeat(43)}`]],
  ])('%s is 401 with the way to authenticate', async (_name, lines) => {
    const answer = await send(lines);
    expectProblem(answer, 401, /^(The request has no token|The token is unknown or expired)/u);
    expect(answer.headers['www-authenticate']).toBe('Bearer');
  });

  it('is not read from the query, which appears in logs', async () => {
    expectProblem(
      await send([], { line: `GET /api/v2/threads?token=${TOKEN} HTTP/1.1` }),
      401,
      /^The request has no token\. Send your token/u,
    );
  });

  it('is not needed for the health check and the API description', async () => {
    for (const path of ['/healthz', '/readyz', '/openapi.json'])
      expect((await send([], { line: `GET ${path} HTTP/1.1` })).status, path).toBe(200);
  });

  it("of the machine's user is valid only in requests from this machine", async () => {
    await open({ auth: { token: TOKEN, trustedProxies: ['127.0.0.1'] } });
    expect((await send([AUTHORISED])).status).toBe(200);
    const forwarded = await send([AUTHORISED, 'X-Forwarded-For: 203.0.113.7']);
    expectProblem(
      forwarded,
      401,
      /^This token is valid only on the server’s own machine\. Create an API key there: toolscript keys add NAME\.$/u,
    );
  });

  it('cannot be made local by a header that no trusted proxy has set', async () => {
    await open({ auth: { token: TOKEN, trustedProxies: ['192.0.2.1'] } });
    for (const header of [
      'X-Forwarded-For: 127.0.0.1',
      'X-Forwarded-Proto: https',
      'X-Forwarded-Port: 443',
      'Forwarded: for=127.0.0.1',
      'X-Real-IP: 127.0.0.1',
      'Via: 1.1 proxy',
    ])
      expectProblem(
        await send([AUTHORISED, header]),
        403,
        /^A proxy on this machine .* Start the server with --trusted-proxy 127\.0\.0\.1, and let the proxy set/u,
      );
  });
});

describe('an API key', () => {
  let keys: KeyFolder;

  beforeEach(async () => {
    keys = new KeyFolder(join(shared.folder, 'keys'));
    await open({ auth: { token: TOKEN, keys } });
  });

  async function keyWith(...scopes: Scope[]) {
    const { key, token } = makeApiKey({ name: 'ci', principal: 'ada', scopes });
    await keys.add(key);
    return { keyId: key.keyId, headers: { authorization: `Bearer ${token}` } };
  }

  it('allows exactly its scopes', async () => {
    const routes = {
      read: ['GET', '/api/v2/threads', undefined, 200],
      run: ['POST', '/api/v2/submit', { prompt: 'hello' }, 202],
      approve: ['POST', '/api/v2/approvals/apr_none', 'deny', 404],
    } as const;
    for (const own of ['read', 'run', 'approve', 'admin'] as const) {
      const { headers } = await keyWith(own);
      for (const [scope, [method, path, body, status]] of Object.entries(routes)) {
        const answer = await server.call(method, path, body, headers);
        expect(answer.status, `${own} for ${scope}`).toBe(own === scope || own === 'admin' ? status : 403);
        if (answer.status === 403)
          expect(answer.body.detail).toBe(
            `The request needs the scope "${scope}", and your key does not have this scope. Create a key that has it: toolscript keys add NAME --scopes ${scope}`,
          );
      }
    }
  });

  it('is rejected from the next request on after it was revoked', async () => {
    const { keyId, headers } = await keyWith('read');
    expect((await server.call('GET', '/api/v2/threads', undefined, headers)).status).toBe(200);
    await keys.delete(keyId);
    expect((await server.call('GET', '/api/v2/threads', undefined, headers)).status).toBe(401);
  });
});

describe('a request', () => {
  it.each([
    ['of a name that a DNS server has led here', ['Host: evil.example']],
    ['of a name that ends like ours', ['Host: 127.0.0.1.evil.example']],
    ['with a user before the host', ['Host: localhost@evil.example']],
  ])('%s is rejected, also for public and unknown paths', async (_name, lines) => {
    for (const path of ['/api/v2/threads', '/healthz', '/openapi.json', '/nothing'])
      expectProblem(
        await send([...lines, AUTHORISED], { line: `GET ${path} HTTP/1.1`, host: false }),
        403,
        /^The server does not accept the host name of the request/u,
      );
  });

  it('needs exactly one host', async () => {
    for (const version of ['1.0', '1.1'])
      expectProblem(
        await send([AUTHORISED], { line: `GET /healthz HTTP/${version}`, host: false }),
        400,
        /^The request has no Host header, or several\. Send exactly one/u,
      );
    expectProblem(
      await send(['Host: evil.example', AUTHORISED]),
      400,
      /^The request has no Host header, or several\. Send exactly one/u,
    );
  });

  it.each([['http://evil.example'], ['null'], ['http://127.0.0.1:1'], ['http://user@127.0.0.1']])(
    'from a page of %s is rejected, and so is its preflight',
    async (origin) => {
      const refused = /^Pages of this origin may not call the server/u;
      const answer = await send([AUTHORISED, `Origin: ${origin}`]);
      expectProblem(answer, 403, refused);
      expect(answer.headers['access-control-allow-origin']).toBeUndefined();
      const asked = [`Origin: ${origin}`, 'Access-Control-Request-Method: POST'];
      expectProblem(await send(asked, { line: 'OPTIONS /api/v2/submit HTTP/1.1' }), 403, refused);
    },
  );

  it("from a page of the server's own is accepted", async () => {
    const { port } = new URL(server.url);
    const answer = await send([AUTHORISED, `Origin: http://127.0.0.1:${port}`]);
    expect(answer.status).toBe(200);
    expect(answer.headers['access-control-allow-origin']).toBeUndefined();
  });
});

describe('a page of a configured origin', () => {
  const ORIGIN = 'https://app.example.com';

  beforeEach(() => open({ auth: { token: TOKEN, origins: [ORIGIN] } }));

  it('may send a preflight, send and read, under its own origin and never a wildcard', async () => {
    const asked = await send([`Origin: ${ORIGIN}`, 'Access-Control-Request-Method: POST'], {
      line: 'OPTIONS /api/v2/submit HTTP/1.1',
    });
    expect(asked).toMatchObject({ status: 204, body: '' });
    expect(asked.headers).toMatchObject({
      'access-control-allow-origin': ORIGIN,
      'access-control-allow-methods': 'GET, POST, PATCH, DELETE',
      'access-control-allow-headers': expect.stringContaining('authorization'),
      vary: 'Origin',
    });
    expect(asked.headers['access-control-allow-credentials']).toBeUndefined();
    const answer = await send([AUTHORISED, `Origin: ${ORIGIN}`]);
    expect(answer).toMatchObject({ status: 200, headers: { 'access-control-allow-origin': ORIGIN, vary: 'Origin' } });
  });

  it('can read rejections and streams', async () => {
    const refused = await send([`Origin: ${ORIGIN}`]);
    expect(refused).toMatchObject({ status: 401, headers: { 'access-control-allow-origin': ORIGIN } });
    const { body } = await server.call('POST', '/api/v2/submit', { prompt: 'hello' }, { origin: ORIGIN });
    const line = `GET /api/v2/stream/${body.runId} HTTP/1.1`;
    const streamed = await send([AUTHORISED, `Origin: ${ORIGIN}`], { line });
    expect(streamed.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'access-control-allow-origin': ORIGIN,
    });
  });
});

describe('a body', () => {
  it.each([
    ['20 000 levels', '['.repeat(20_000) + ']'.repeat(20_000), /nested more than 100 levels/u],
    ['levels without an end', '{"a":'.repeat(1_000_000), /nested more than 100 levels/u],
    ['many values', `[${'0,'.repeat(300_000)}0]`, /more than 200000 values/u],
  ])('with %s is refused before it is parsed, on every route', async (_name, body, detail) => {
    expectProblem(await post(body), 400, detail);
    const line = 'POST /v1/responses HTTP/1.1';
    const lines = [AUTHORISED, 'Content-Type: application/json', `Content-Length: ${body.length}`];
    const answer = await send(lines, { line, body });
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.body).error.message).toMatch(detail);
  });

  it('with brackets, commas and quotes in its texts is accepted', async () => {
    const prompt = `${'['.repeat(500)} "\\" ${','.repeat(400_000)}`;
    expect((await post(JSON.stringify({ prompt }))).status).toBe(202);
  });

  it.each([['text/plain'], ['application/x-www-form-urlencoded'], ['multipart/form-data; boundary=x'], ['text/json']])(
    'of type %s is rejected, because a page may send it without a preflight',
    async (type) => {
      expectProblem(await post('{"prompt":"hello"}', type), 415, /^The body must be JSON/u);
    },
  );

  it.each([['{"prompt":'], ['{"prompt":"hello"} x'], ['\u0000'], ['{"__proto__":{"x":1},"prompt":"hello"}']])(
    '%j is rejected, because it is not JSON',
    async (body) => {
      expectProblem(await post(body), 400, /./u);
    },
  );

  it('of 10 MB is rejected', async () => {
    expectProblem(await post(JSON.stringify({ prompt: 'x'.repeat(10_000_000) })), 413, /^The body is larger than/u);
  });

  it('with a prompt of a million characters is rejected', async () => {
    expectProblem(
      await post(JSON.stringify({ prompt: 'x'.repeat(1_000_000) })),
      400,
      /^The body is not valid: \/prompt: /u,
    );
    const item = { type: 'message', id: 'item_1', role: 'user', content: 'x'.repeat(1_000_000) };
    expectProblem(await post(JSON.stringify({ input: [item] })), 400, /^The body is not valid: \/input/u);
  });

  it('is not read before its sender is known', async () => {
    expectProblem(
      await post('{"prompt":', 'application/json', []),
      401,
      /^The request has no token\. Send your token/u,
    );
  });
});

describe('data that is not a request', () => {
  it.each([
    ['no HTTP', 'hello\r\n\r\n', 400, /^This is not an HTTP/u],
    ['too long headers', rawRequest('GET / HTTP/1.1', [`X: ${'x'.repeat(20_000)}`]), 431, /^The headers are larger/u],
    [
      'a path that cannot be decoded',
      rawRequest('GET /api/v2/runs/%zz HTTP/1.1', ['Host: localhost']),
      400,
      /^The path cannot be decoded/u,
    ],
    [
      'too long an id',
      rawRequest(`GET /api/v2/runs/${'x'.repeat(300)} HTTP/1.1`, ['Host: localhost']),
      414,
      /^An id in the path/u,
    ],
    [
      'two lengths',
      rawRequest('POST / HTTP/1.1', ['Content-Length: 1', 'Content-Length: 2'], 'xx'),
      400,
      /^This is not/u,
    ],
    [
      'a length and chunks',
      rawRequest(
        'POST / HTTP/1.1',
        ['Host: localhost', 'Content-Length: 5', 'Transfer-Encoding: chunked'],
        '0\r\n\r\n',
      ),
      400,
      /^This is not/u,
    ],
  ])('such as %s is answered with a problem too', async (_name, text, status, detail) => {
    expectProblem(await sendRaw(server.url, text), status, detail);
  });
});

describe('a sender', () => {
  it('that never ends its headers or its body is answered with 408, and others are served meanwhile', async () => {
    await open({ limits: { headersTimeoutMs: 500, requestTimeoutMs: 1_000 } });
    const { port } = new URL(server.url);
    const begun = [
      `GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: `,
      `POST /api/v2/submit HTTP/1.1\r\nHost: localhost\r\n${AUTHORISED}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`,
    ];
    const answers = begun.map(async (text) => {
      const socket = connect(Number(port), '127.0.0.1');
      socket.write(text);
      const dripping = setInterval(() => socket.write('x'), 50);
      let received = '';
      socket
        .setEncoding('utf8')
        .on('data', (chunk: string) => (received += chunk))
        .on('error', () => {});
      await once(socket, 'close');
      clearInterval(dripping);
      return received;
    });
    expect((await send([AUTHORISED])).status).toBe(200);
    for (const answer of await Promise.all(answers)) {
      expect(answer).toMatch(/^HTTP\/1\.1 408 /u);
      expect(answer).toContain('application/problem+json');
    }
  });
});

describe('too many requests', () => {
  const from = (address: string) => [`X-Forwarded-For: ${address}`];

  function expectTooMany(answer: RawAnswer, detail: RegExp): void {
    expectProblem(answer, 429, detail);
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
  }

  it('from one address get 429 before authentication, and others are served', async () => {
    await open({ auth: { token: TOKEN, trustedProxies: ['127.0.0.1'] }, limits: { requestsPerAddress: 3 } });
    for (let count = 0; count < 3; count += 1) expect((await send(from('203.0.113.7'))).status).toBe(401);
    expectTooMany(await send(from('203.0.113.7')), /^Your address sends more than 3 requests a minute\./u);
    expectTooMany(await send(from('203.0.113.7'), { line: 'GET /healthz HTTP/1.1' }), /^Your address/u);
    expect((await send(from('203.0.113.8'))).status).toBe(401);
  });

  it('of clients of a trusted proxy on this machine count by client, and its own requests do not count', async () => {
    await open({
      auth: { token: TOKEN, trustedProxies: ['127.0.0.1'] },
      limits: { requestsPerAddress: 2, failuresPerAddress: 2 },
    });
    const healthy = { line: 'GET /healthz HTTP/1.1' };
    for (let count = 0; count < 5; count += 1) expect((await send([], healthy)).status).toBe(200);
    for (const path of ['/nowhere', '/v1/nowhere'])
      expect((await send(from('203.0.113.7'), { line: `POST ${path} HTTP/1.1` })).status).toBe(404);
    const limited = await send(from('203.0.113.7'), healthy);
    expectTooMany(limited, /^Your address sends more than 2 requests a minute\./u);
    for (let count = 0; count < 2; count += 1) expect((await send([])).status).toBe(401);
    expectTooMany(await send([]), /^Your address has sent too many requests without a valid token\./u);
    expect((await send(from('203.0.113.8'))).status).toBe(401);
  });

  it('from one IPv6 network count as one address', async () => {
    await open({ auth: { token: TOKEN, trustedProxies: ['127.0.0.1'] }, limits: { requestsPerAddress: 1 } });
    expect((await send(from('2001:db8::1'))).status).toBe(401);
    expectTooMany(await send(from('2001:db8::2')), /^Your address/u);
    expect((await send(from('2001:db8:0:1::2'))).status).toBe(401);
  });

  it('with wrong tokens get 429, and the right one is still accepted', async () => {
    await open({ limits: { failuresPerAddress: 2 } });
    for (let count = 0; count < 2; count += 1) expect((await send([])).status).toBe(401);
    expectTooMany(
      await send([`Authorization: Bearer ${TOKEN}x`]),
      /^Your address has sent too many requests without a valid token\./u,
    );
    expect((await send([AUTHORISED])).status).toBe(200);
  });

  it('from one principal get 429 with any of its keys, and others are served', async () => {
    const principals: Record<string, string> = { one: 'ada', two: 'ada', three: 'bob' };
    const authenticate = (token: string) => ({ principal: principals[token]!, scopes: ['read'] as const });
    await open({ auth: { token: TOKEN, authenticate }, limits: { requestsPerPrincipal: 2 } });
    const ask = (token: string) => send([`Authorization: Bearer ${token}`]);
    expect([(await ask('one')).status, (await ask('two')).status]).toEqual([200, 200]);
    expectTooMany(await ask('one'), /^You send more than 2 requests a minute\. Try again in/u);
    expect((await ask('three')).status).toBe(200);
    for (let count = 0; count < 4; count += 1) expect((await send([AUTHORISED])).status).toBe(200);
  });
});
