import { chmodSync, existsSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { serve } from '../serve/support/served.js';
import { Place } from '../support/place.js';

/** A provider that knows one key, with the headers of the requests that it got. */
async function provider(status?: number) {
  const requests: (string | undefined)[] = [];
  const server = createServer(({ url, headers }, response) => {
    const key = headers['x-api-key']?.toString() ?? headers.authorization?.replace('Bearer ', '');
    requests.push(`${url} ${key}`);
    response
      .writeHead(status ?? (key === 'right-key' ? 200 : 401))
      .end('{"data":[{"id":"gpt-a"},{"id":7},{"id":"gpt-b"}]}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { requests, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const keysFile = (place: Place) => join(place.base, 'data/toolscript/provider-keys.json');

describe('toolscript connect', () => {
  it.each([
    ['openai', 'OPENAI_BASE_URL', '/models', 'OPENAI_API_KEY'],
    ['anthropic', 'ANTHROPIC_BASE_URL', '/v1/models', 'ANTHROPIC_API_KEY'],
  ])('tests a key of %s, stores it for its owner alone, and removes it', async (slug, variable, path, name) => {
    const place = new Place();
    const { url, requests } = await provider();
    const env = { [variable]: url };
    const { status, stdout, stderr } = await place.toolscript(['connect', slug], { stdin: 'right-key\n', env });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(requests).toEqual([`${path} right-key`]);
    expect(stdout).not.toContain('right-key');
    expect(JSON.parse(readFileSync(keysFile(place), 'utf8'))).toEqual({ [name]: 'right-key' });
    if (process.platform !== 'win32') expect(statSync(keysFile(place)).mode & 0o777).toBe(0o600);
    expect((await place.run(['connect'])).stdout).toMatch(new RegExp(`^${slug} .*: connected$`, 'mu'));
    expect((await place.run(['connect', slug, '--remove'])).status).toBe(0);
    expect((await place.run(['connect'])).stdout).not.toContain(': connected');
    expect((await place.run(['connect', slug, '--remove'])).status).toBe(2);
  });

  it('stores nothing that the provider rejects, or that cannot be tested', async () => {
    const place = new Place();
    const refusal = async (key: string, url: string) => {
      const { status, stderr } = await place.toolscript(['connect', 'openai'], {
        stdin: key,
        env: { OPENAI_BASE_URL: url },
      });
      expect(status).toBe(2);
      expect(existsSync(keysFile(place))).toBe(false);
      return stderr;
    };
    expect(await refusal('wrong-key', (await provider()).url)).toContain('rejects the key (status 401)');
    expect(await refusal('right-key', (await provider(503)).url)).toContain('toolscript connect openai --no-test');
    expect(await refusal('right-key', 'http://127.0.0.1:1')).toContain('cannot be reached');
    expect(await refusal('right-key', 'http://gateway.example')).toContain('unencrypted');
    expect(await refusal('two words', (await provider()).url)).toContain('This is not a key');
  });

  it('shares its keys with the page of a server, whose agents then have theirs at once', async () => {
    const place = new Place();
    const { url, requests } = await provider();
    const env = { ...place.env, OPENAI_BASE_URL: url };
    const server = await serve(['--workspace', place.workspace], { env });
    onTestFinished(async () => void (await server.end()));
    const openai = async () => (await server.api('providers')).data[0] as { provider: string; key: string };
    const problem = async () =>
      (await server.api('agents')).data.find(({ agentId }: { agentId: string }) => agentId === 'gpt')
        .problem as unknown;
    expect([await openai(), typeof (await problem())]).toEqual([
      { provider: 'openai', name: 'OpenAI', key: 'none' },
      'string',
    ]);
    expect((await server.api('providers/openai', { key: 'wrong-key' }, 'PUT')).detail).toContain('rejects the key');
    expect(await server.api('providers/openai', { key: 'right-key' }, 'PUT')).toEqual({ models: ['gpt-a', 'gpt-b'] });
    expect(requests.at(-1)).toBe('/models right-key');
    expect([(await openai()).key, await problem()]).toEqual(['stored', undefined]);
    expect(JSON.parse(readFileSync(keysFile(place), 'utf8'))).toEqual({ OPENAI_API_KEY: 'right-key' });
    expect((await place.run(['connect'])).stdout).toMatch(/^openai .*: connected$/mu);
    await server.api('providers/openai', undefined, 'DELETE');
    expect([(await openai()).key, typeof (await problem())]).toEqual(['none', 'string']);
    expect(JSON.parse(readFileSync(keysFile(place), 'utf8'))).toEqual({});
  });

  it('serves the commands that need a key, and gives way to the environment', async () => {
    const place = new Place();
    await place.toolscript(['connect', 'openai', '--no-test'], { stdin: 'right-key' });
    const { url, requests } = await provider(400);
    await place.run(['Say hi.', '--agent', 'gpt'], { env: { OPENAI_BASE_URL: url } });
    expect(requests[0]).toContain('right-key');
    await place.run(['Say hi.', '--agent', 'gpt'], { env: { OPENAI_BASE_URL: url, OPENAI_API_KEY: 'own-key' } });
    expect(requests.at(-1)).toContain('own-key');
  });

  it.skipIf(process.platform === 'win32')('uses no keys that other users can read', async () => {
    const place = new Place();
    await place.toolscript(['connect', 'openai', '--no-test'], { stdin: 'right-key' });
    chmodSync(keysFile(place), 0o644);
    const { url, requests } = await provider(400);
    const { stderr } = await place.run(['Say hi.', '--agent', 'gpt'], { env: { OPENAI_BASE_URL: url } });
    expect(stderr).toContain('because other users can read the file');
    expect(requests).toEqual([]);
  });
});
