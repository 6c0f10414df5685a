import { describe, expect, it, onTestFinished } from 'vitest';
import { lineRedactor } from '#server/observability/redaction.js';
import { openTestServer, TOKEN, type TestServerOptions } from '../support/test-server.js';
import { until } from '@toolscript/testkit/until';

type Line = Record<string, unknown> & { msg: string };

/** A server, and the lines of its log. */
async function openLogged(level: string, options: TestServerOptions = {}) {
  let text = '';
  const stream = { write: (line: string) => void (text += line) };
  const server = await openTestServer({ logger: { level, stream }, ...options });
  onTestFinished(() => server.close());
  const lines = () => text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Line]));
  return { server, lines, text: () => text };
}

async function run(server: Awaited<ReturnType<typeof openTestServer>>, prompt: string) {
  const { body } = await server.call('POST', '/api/v2/submit', { prompt });
  await server.follow(body.runId);
  return body as { runId: string; threadId: string };
}

describe('the log', () => {
  it('names run and thread in each line of a run, and contains none of its text', async () => {
    const { server, lines, text } = await openLogged('info');
    const ids = await run(server, 'a private question');
    const own = await until(async () => {
      const found = lines().filter(({ runId }) => runId === ids.runId);
      return found.some(({ state }) => state === 'completed') ? found : undefined;
    });
    expect(own.map(({ msg, threadId }) => [msg, threadId])).toEqual([
      ['run started', ids.threadId],
      ['run ended or suspended', ids.threadId],
    ]);
    expect(own[0]).toMatchObject({ level: 30, reason: 'new', epoch: 1, agent: 'demo', model: 'scripted' });
    expect(text()).not.toContain('private');
    expect(lines().some(({ msg }) => msg === 'request')).toBe(false);
  });

  it('has each script and each call at debug, with the script’s id', async () => {
    const { server, lines } = await openLogged('debug');
    const { body } = await server.call('POST', '/api/v2/submit', { prompt: 'please approve' });
    const { approvalId } = await until(async () => {
      const { body: page } = await server.call('GET', `/api/v2/approvals?runId=${body.runId}`);
      return page.data[0] as { approvalId: string } | undefined;
    });
    await server.call('POST', `/api/v2/approvals/${approvalId}`, 'approve');
    await server.follow(body.runId);
    const scriptId = expect.stringMatching(/^scr_/u) as string;
    const own = lines().filter(({ runId, reqId }) => runId === body.runId && reqId === undefined);
    for (const line of [
      { msg: 'approval requested', approvalId, scriptId, tool: 'signGuestBook' },
      { msg: 'approval resolved', approvalId, scriptId, decision: 'approve', by: 'person' },
      { msg: 'tool called', scriptId, tool: 'signGuestBook', status: 'completed' },
      { msg: 'script ended', scriptId, status: 'completed', calls: 1 },
    ])
      expect(own).toContainEqual(expect.objectContaining(line));
  });

  it('has one line for each request on demand, without its query', async () => {
    const { server, lines } = await openLogged('info', { logRequests: true });
    const { runId } = await run(server, 'hello');
    await server.call('GET', '/api/v2/threads?text=private');
    const requests = lines().filter(({ msg }) => msg === 'request');
    expect(requests.map(({ method, route, status }) => [method, route, status])).toEqual([
      ['POST', '/api/v2/submit', 202],
      ['GET', '/api/v2/stream/:runId', 200],
      ['GET', '/api/v2/threads', 200],
    ]);
    for (const { actor } of requests) expect(actor).toEqual({ principal: 'local', address: '127.0.0.1' });
    expect(requests[1]).toMatchObject({ runId });
    expect(new Set(requests.map(({ reqId }) => reqId)).size).toBe(3);
    expect(JSON.stringify(requests)).not.toContain('private');
  });

  it('contains no planted secret, wherever it was written', async () => {
    const secret = 'canary "of" a provider';
    const { server, text, lines } = await openLogged('trace', { logRequests: true, secrets: [secret] });
    server.app.log.error({ err: new Error(`401 for ${secret} and Bearer canary-of-a-header`) }, `it said ${secret}`);
    server.app.log.warn({ headers: { authorization: 'canary-1', 'x-api-key': 'canary-2', cookie: 'a=canary-3' } }, 'x');
    server.app.log.info({ url: `http://127.0.0.1:4319/#token=${TOKEN}`, deep: { accessToken: 'canary-4' } }, TOKEN);
    await server.call('GET', '/api/v2/threads', undefined, { authorization: 'Bearer canary-of-a-wrong-token' });
    await server.call('GET', `/api/v2/none?token=${TOKEN}`);
    expect(lines().length).toBeGreaterThan(4);
    expect(text()).not.toContain('canary');
    expect(text()).not.toContain(TOKEN);
    expect(text()).toContain('[redacted]');
  });
});

describe('a line', () => {
  const redact = lineRedactor(['known-secret', 'known-secret-and-more', 'short', undefined]);

  it.each([
    ['loses a known secret, and stays JSON', { a: 'x known-secret-and-more y' }, { a: 'x [redacted] y' }],
    [
      'loses a bearer token, and stays JSON',
      { a: 'Authorization: Bearer abc.def' },
      { a: 'Authorization: Bearer [redacted]' },
    ],
    [
      'loses a member whose name says so, and stays JSON',
      { 'Set-Cookie': 'q"r', clientSecret: 's' },
      { 'Set-Cookie': '[redacted]', clientSecret: '[redacted]' },
    ],
    ['loses the key of a provider, and stays JSON', { a: 'sk-ant-0123456789abcdef' }, { a: '[redacted]' }],
    [
      'loses a key of this server, and stays JSON',
      { a: 'tsk_0123456789abcdef_0123456789abcdefghi' },
      { a: '[redacted]' },
    ],
    ['loses a token of GitHub, and stays JSON', { a: 'ghp_0123456789abcdefghij' }, { a: '[redacted]' }],
    ['loses a web token, and stays JSON', { a: 'eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl' }, { a: '[redacted]' }],
    [
      'loses a password in a URL, and stays JSON',
      { a: 'postgres://me:pass@host/db' },
      { a: 'postgres://me:[redacted]@host/db' },
    ],
    [
      'loses a token in a URL, and stays JSON',
      { a: 'http://h/?x=1&token=abc&y=2' },
      { a: 'http://h/?x=1&token=[redacted]&y=2' },
    ],
    [
      'loses a password with @ in a URL, and stays JSON',
      { a: 'postgres://me:p@ss@host/db?x=a@b' },
      { a: 'postgres://me:[redacted]@host/db?x=a@b' },
    ],
    [
      'loses the members of a text that is JSON, and stays JSON',
      { inputJson: JSON.stringify({ password: 'p"q', deep: JSON.stringify({ token: 't', a: 1 }) }) },
      { inputJson: JSON.stringify({ password: '[redacted]', deep: JSON.stringify({ token: '[redacted]', a: 1 }) }) },
    ],
    [
      'loses values in lists, and stays JSON',
      { headers: ['Accept', 'x', 'Cookie', 'a=1'], tokens: ['a', 'b'], list: [{ name: 'X-Api-Key', value: 'v' }] },
      {
        headers: ['Accept', 'x', 'Cookie', '[redacted]'],
        tokens: '[redacted]',
        list: [{ name: 'X-Api-Key', value: '[redacted]' }],
      },
    ],
    [
      'loses a key in PEM, and stays JSON',
      { a: 'x -----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY----- y' },
      { a: 'x [redacted] y' },
    ],
    ...[
      `AKIA${'A1'.repeat(8)}`,
      `xoxb-${'1'.repeat(12)}-abc`,
      `AIza${'b'.repeat(35)}`,
      `github_pat_${'c'.repeat(30)}`,
    ].map((key): [string, object, object] => [
      `loses the key ${key.slice(0, 6)}…, and stays JSON`,
      { a: `x ${key} y` },
      { a: 'x [redacted] y' },
    ]),
  ])('%s', (_what, line, expected) => {
    expect(JSON.parse(redact(JSON.stringify(line)))).toEqual(expected);
  });

  // A pattern that is not linear needs minutes here, and the test runs out of time.
  it.each(['eyJaaaaaaaa-', 'eyJaaaaaaaa.', '//a:', '-----BEGIN PRIVATE KEY-----', 'Bearer ', 'sk-', '[[', '"{\\"'])(
    'is read in linear time, even if it repeats a part of a secret: %s',
    (part) => {
      const line = JSON.stringify({ decision: { input: part.repeat(2_000_000 / part.length) } });
      expect(redact(line)).toContain('"decision"');
    },
  );

  it('keeps everything else', () => {
    const line = JSON.stringify({
      a: 'a short task at 12:30',
      output_tokens: 12,
      runId: 'run_1',
      url: 'http://h:80/a@b',
    });
    expect(redact(line)).toBe(line);
  });
});
