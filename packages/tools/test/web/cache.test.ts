import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fileWebCache, memoryWebCache, type CachedPage, type WebCache } from '#tools/web/cache.js';
import { serve, web } from './support.js';
import { newFolder } from '@toolscript/testkit/folder';

const page = (text: string): CachedPage => ({ source: 'http://a/', title: 'A', text, isJson: false, fetchedAt: 1 });

describe.each([
  ['memoryWebCache', (maxSize?: number): WebCache => memoryWebCache(maxSize === undefined ? {} : { maxSize })],
  [
    'fileWebCache',
    (maxSize?: number): WebCache => fileWebCache(join(newFolder(), 'cache'), maxSize === undefined ? {} : { maxSize }),
  ],
])('%s', (_name, make) => {
  it('returns the last page of a URL, and none of another', async () => {
    const cache = make();
    await cache.set('http://a/', page('one'));
    await cache.set('http://a/', page('two'));
    expect(await cache.get('http://a/')).toEqual(page('two'));
    expect(await cache.get('http://b/')).toBeUndefined();
  });

  it('stays within its size, and drops the oldest pages', async () => {
    const cache = make(10_000);
    for (let index = 0; index < 12; index += 1) {
      await cache.set(`http://${index}/`, page('x'.repeat(2_000)));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const found = await Promise.all(Array.from({ length: 12 }, (_, index) => cache.get(`http://${index}/`)));
    expect(found[0]).toBeUndefined();
    expect(found[11]).toBeDefined();
    expect(found.filter((one) => one !== undefined).length).toBeLessThan(6);
  });
});

describe('fileWebCache', () => {
  it('is for its user alone, and ignores damaged files and pages of another URL', async () => {
    const folder = join(newFolder(), 'cache');
    const cache = fileWebCache(folder);
    await cache.set('http://a/', page('one'));
    const [name = ''] = readdirSync(folder);
    expect(statSync(folder).mode & 0o077).toBe(0);
    expect(statSync(join(folder, name)).mode & 0o077).toBe(0);
    for (const content of ['{', '{}', JSON.stringify({ url: 'http://b/', page: page('forged') })]) {
      writeFileSync(join(folder, name), content);
      expect(await cache.get('http://a/')).toBeUndefined();
    }
  });

  it('leaves complete files only, and never fails a call', async () => {
    const folder = join(newFolder(), 'cache');
    const cache = fileWebCache(folder);
    await Promise.all(Array.from({ length: 20 }, (_, index) => cache.set('http://a/', page(`text ${index}`))));
    expect(readdirSync(folder)).toHaveLength(1);
    const broken = fileWebCache(join(newFolder({ file: '' }), 'file', 'cache'));
    await broken.set('http://a/', page('lost'));
    expect(await broken.get('http://a/')).toBeUndefined();
  });
});

describe('fetchUrl', () => {
  it('takes a page from the cache for 24 hours, whatever its fragment', async () => {
    const server = await serve((_request, response) =>
      response.writeHead(200, { 'content-type': 'text/plain' }).end(`answer ${server.requests.length}`),
    );
    let now = 1_000_000;
    const { fetchUrl } = web({ allow: ['127.0.0.1'], now: () => now });
    const fetched = async (): Promise<unknown> => (await fetchUrl({ urls: `${server.url}/#part` })).fetches[0];
    expect(await fetched()).toMatchObject({ cached: false });
    now += 24 * 3_600_000 - 1;
    expect(await fetched()).toMatchObject({ cached: true, content: expect.stringContaining('answer 1') });
    now += 1;
    expect(await fetched()).toMatchObject({ cached: false, content: expect.stringContaining('answer 2') });
    now -= 48 * 3_600_000;
    expect(await fetched()).toMatchObject({ cached: false });
  });

  it('does not store a page that failed', async () => {
    let status = 500;
    const server = await serve((_request, response) =>
      response.writeHead(status, { 'content-type': 'text/plain' }).end('a'),
    );
    const { fetchUrl } = web({ allow: ['127.0.0.1'] });
    await expect(fetchUrl({ urls: server.url })).rejects.toThrow('status 500');
    status = 200;
    expect((await fetchUrl({ urls: server.url })).fetches[0].cached).toBe(false);
  });
});
