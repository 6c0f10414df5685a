import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestServer, type TestServer } from '../support/test-server.js';

let server: TestServer;
let paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;

beforeAll(async () => {
  server = await openTestServer();
  ({ paths } = (await server.call('GET', '/openapi.json')).body);
});

afterAll(() => server.close());

it('a method that a path does not accept gets 405 with the accepted ones, on every route', async () => {
  expect(Object.keys(paths).length).toBeGreaterThan(15);
  for (const [path, operations] of Object.entries(paths)) {
    const other = ['PUT', 'PATCH'].find((method) => !(method.toLowerCase() in operations))!;
    const { status, body, headers } = await server.call(other, path.replaceAll(/\{\w+\}/gu, 'none'));
    expect(status, path).toBe(405);
    const allowed = headers.get('allow')!.split(', ');
    for (const method of Object.keys(operations)) expect(allowed, path).toContain(method.toUpperCase());
    const problem = path.startsWith('/v1/')
      ? { error: { code: 'method_not_allowed', type: 'invalid_request_error' } }
      : { status: 405, title: 'Method not allowed' };
    expect(body, path).toMatchObject(problem);
  }
});

it.each(['/api/v2', '/api/v2/threads/a/b/c', '/v1', '/v1/responses/a/b', '/toString', '/__proto__'])(
  'an unknown path gets 404 for every method: %s',
  async (path) => {
    for (const method of ['GET', 'PUT', 'POST']) expect((await server.call(method, path)).status).toBe(404);
  },
);
