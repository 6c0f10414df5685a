import { once } from 'node:events';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { newFolder } from '@toolscript/testkit/folder';
import { until } from '@toolscript/testkit/until';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestServer, TOKEN, type TestServer } from '../support/test-server.js';

const BODY_BYTES = 8_000_000;
const BRACKETS = Buffer.alloc(BODY_BYTES, '[');
/** Maximum bytes that the server reads from one connection: headers, discarded bytes, and one read of the system. */
const MAX_READ = 256 * 1024;
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND'];
const HIDDEN = [
  '/mcp',
  '/',
  '/threads/none',
  '/settings',
  '/openapi.json',
  '/assets/page.js',
  '/nowhere',
  '/v1/nowhere',
  '/%ff',
];

let server: TestServer;
let paths: readonly string[];
/** The server's side of the connections. */
let accepted: Socket[] = [];

beforeAll(async () => {
  const page = newFolder({ 'index.html': '<html></html>', 'assets/page.js': '' });
  const mcp = { fetch: () => Promise.reject(new Error('reached')), close: () => Promise.resolve() };
  server = await openTestServer({ page, mcp, limits: { failuresPerAddress: 10_000 } });
  const { body } = await server.call('GET', '/openapi.json');
  paths = [...Object.keys(body.paths).map((path) => path.replaceAll(/\{\w+\}/gu, 'none')), ...HIDDEN];
  server.app.server.on('connection', (socket: Socket) => accepted.push(socket));
});

afterAll(() => server.close());

/** Sends a request whose body is brackets, up to `bytes`, until the server closes. Returns the status of the answer. */
async function flood(line: string, headers: readonly string[], bytes = BODY_BYTES): Promise<number> {
  const socket = connect({ port: (server.app.server.address() as AddressInfo).port, host: '127.0.0.1' });
  let received = '';
  socket.setEncoding('latin1').on('data', (text: string) => (received += text));
  socket.on('error', () => {}).on('end', () => socket.destroy());
  const body = headers.includes('Transfer-Encoding: chunked') ? `${bytes.toString(16)}\r\n` : '';
  socket.write([line, 'Host: localhost', ...headers, '', body].join('\r\n'));
  socket.write(BRACKETS.subarray(0, bytes));
  await once(socket, 'close');
  return Number(received.split(' ')[1]);
}

async function bytesReadBy(requests: readonly Promise<number>[]): Promise<readonly number[]> {
  await Promise.all(requests);
  await until(() => accepted.every(({ destroyed }) => destroyed));
  const read = accepted.map(({ bytesRead }) => bytesRead);
  accepted = [];
  return read;
}

const LENGTH = [`Content-Length: ${BODY_BYTES}`, 'Content-Type: application/json'];
const CHUNKED = ['Transfer-Encoding: chunked', 'Content-Type: application/json'];

it.each([
  ['without a token', LENGTH],
  ['with a wrong token', [...LENGTH, `Authorization: Bearer ${TOKEN}x`]],
  ['in chunks', CHUNKED],
])('the server answers a body %s on every path and method, and does not read the body', async (_name, headers) => {
  expect(paths.length).toBeGreaterThan(25);
  // A slow machine does not accept the connections of all methods at once within the server's time limits.
  for (const method of METHODS) {
    const answers = paths.map((path) => flood(`${method} ${path} HTTP/1.1`, headers));
    for (const bytes of await bytesReadBy(answers)) expect(bytes).toBeLessThan(MAX_READ);
    const allowed = method === 'GET' || method === 'HEAD' ? [200, 400, 401, 404, 405] : [400, 401, 404, 405];
    for (const [index, status] of (await Promise.all(answers)).entries())
      expect(allowed, `${method} ${paths[index]}`).toContain(status);
  }
});

it('an unknown path and a wrong method are answered before the body with a valid token, too', async () => {
  const headers = [...LENGTH, `Authorization: Bearer ${TOKEN}`];
  const answers = ['POST /nowhere', 'PUT /api/v2/submit', 'PATCH /v1/responses'].map((line) =>
    flood(`${line} HTTP/1.1`, headers),
  );
  for (const bytes of await bytesReadBy(answers)) expect(bytes).toBeLessThan(MAX_READ);
  expect(await Promise.all(answers)).toEqual([404, 405, 405]);
});

it('a hundred unfinished bodies hold neither memory nor connections', async () => {
  const requests = Array.from({ length: 100 }, () => flood('POST /nowhere HTTP/1.1', LENGTH, 1_000_000));
  for (const bytes of await bytesReadBy(requests)) expect(bytes).toBeLessThan(MAX_READ);
  expect(new Set(await Promise.all(requests))).toEqual(new Set([404]));
});

it('a small body of a refused request does not cost the client its answer', async () => {
  const answer = await server.call('POST', '/nowhere', { text: 'x'.repeat(50_000) });
  expect(answer).toMatchObject({ status: 404, body: { status: 404, title: 'Not found' } });
});

it.each([
  ['with its length', LENGTH],
  ['in chunks', CHUNKED],
])('the server reads no more of a body %s after it has refused it', async (_name, headers) => {
  const authorised = [...headers, `Authorization: Bearer ${TOKEN}`];
  const answers = ['/api/v2/submit', '/v1/responses'].map((path) => flood(`POST ${path} HTTP/1.1`, authorised));
  for (const bytes of await bytesReadBy(answers)) expect(bytes).toBeLessThan(MAX_READ);
  expect(await Promise.all(answers)).toEqual([400, 400]);
});
