import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { createServer } from '@toolscript/server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestServer, TOKEN, type TestServer } from '../support/test-server.js';

const HTML = '<!doctype html><base href="/" /><script type="module" src="./assets/index-abc.js"></script>';

const LARGE = 'export {};\n'.repeat(100);

let folder: string;
let server: TestServer;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'toolscript-page-'));
  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'index.html'), HTML);
  writeFileSync(join(folder, 'assets/index-abc.js'), 'export {};');
  writeFileSync(join(folder, 'assets/large-abc.js'), LARGE);
  writeFileSync(join(folder, 'assets/large-abc.js.br'), brotliCompressSync(LARGE));
  writeFileSync(join(folder, 'assets/large-abc.js.gz'), gzipSync(LARGE));
  writeFileSync(join(folder, '.hidden'), 'hidden');
  server = await openTestServer({ page: folder });
});

afterAll(async () => {
  await server?.close();
  rmSync(folder, { recursive: true, force: true });
});

const get = (path: string, options: RequestInit = {}) => fetch(`${server.url}${path}`, options);

describe('the page of a server', () => {
  it.each(['/', '/threads/thr_1', '/settings', '/settings/audit'])('is at %s, without a token', async (path) => {
    const response = await get(path);
    expect([response.status, await response.text()]).toEqual([200, HTML]);
    expect(response.headers.get('cache-control')).toBe('no-cache');
  });

  it('allows no scripts but its own files, nothing from elsewhere, and no frame around it', async () => {
    for (const path of ['/', '/assets/index-abc.js']) {
      const { headers } = await get(path);
      const policy = headers.get('content-security-policy') ?? '';
      expect(policy).toContain("default-src 'self'");
      expect(policy).toContain("script-src 'self'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).toContain("require-trusted-types-for 'script'");
      expect(policy).not.toMatch(/unsafe|https?:|\*/u);
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('referrer-policy')).toBe('no-referrer');
    }
  });

  it('lets browsers keep files whose names contain a hash', async () => {
    const response = await get('/assets/index-abc.js');
    expect(response.status).toBe(200);
    expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(response.headers.get('content-type')).toMatch(/javascript/u);
  });

  it('sends files compressed as they were built, to browsers that take them so', async () => {
    for (const [encoding, expected] of [
      ['br, gzip', 'br'],
      ['gzip', 'gzip'],
      ['identity', null],
    ] as const) {
      const response = await get('/assets/large-abc.js', { headers: { 'accept-encoding': encoding } });
      expect([response.status, response.headers.get('content-encoding')]).toEqual([200, expected]);
      expect(response.headers.get('content-type')).toMatch(/javascript/u);
      expect(response.headers.get('vary')).toBe('accept-encoding');
      expect(response.headers.get('cache-control')).toContain('immutable');
      expect(response.headers.get('content-security-policy')).toContain("default-src 'self'");
      expect(await response.text()).toBe(LARGE);
    }
    expect((await get('/assets/large-abc.js.br')).status).toBe(404);
  });

  it.each([
    '/assets/none.js',
    '/nothing',
    '/api/v2/nothing',
    '/v1/nothing',
    '/assets/../../etc/passwd',
    '/assets/%2e%2e/%2e%2e/x',
    '/.hidden',
  ])('is not at %s', async (path) => {
    const response = await get(path);
    expect([404, 401]).toContain(response.status);
    expect(response.headers.get('content-type')).toMatch(/json/u);
  });

  it('takes nothing but GET and HEAD', async () => {
    expect((await get('/', { method: 'HEAD' })).status).toBe(200);
    expect((await get('/threads/thr_1', { method: 'POST' })).status).toBe(405);
  });

  it('leaves the API as it is', async () => {
    expect((await get('/api/v2/threads')).status).toBe(401);
    expect((await server.call('GET', '/api/v2/threads')).status).toBe(200);
    expect((await server.call('GET', '/openapi.json')).body.paths).not.toHaveProperty('/threads/{threadId}');
  });

  it('knows where it is mounted', async () => {
    const mounted = await openTestServer({ page: folder, basePath: '/agents' });
    expect(await (await fetch(`${mounted.url}/agents/threads/x`)).text()).toContain('<base href="/agents/" />');
    await mounted.close();
  });

  it('needs a folder with a built page', async () => {
    const options = { stores: 'memory:', auth: { token: TOKEN }, page: join(folder, 'assets') };
    await expect(createServer(options)).rejects.toThrow(/has no index\.html/u);
  });
});
