import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { networkInterfaces } from 'node:os';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { inProcess } from '../support/in-process.js';
import { PROGRAM, start, toolscript } from '../support/program.js';
import { newFolder } from '@toolscript/testkit/folder';

let env: Record<string, string>;
const stops: (() => Promise<unknown>)[] = [];

beforeEach(() => {
  env = { XDG_DATA_HOME: newFolder() };
});

afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

function keys(...args: string[]) {
  return inProcess(['keys', ...args], { env });
}

/** Returns the first line that the server prints. */
async function serve(...args: string[]): Promise<string> {
  return (await serveLines(...args))[0]!;
}

/** Returns all lines that the server prints at its start. */
async function serveLines(...args: string[]): Promise<string[]> {
  const child = start(process.execPath, [PROGRAM, 'serve', '--port', '0', ...args], { env });
  stops.push(async () => {
    child.kill('SIGTERM');
    if (child.exitCode === null) await once(child, 'exit');
  });
  const lines: string[] = [];
  for await (const line of createInterface(child.stdout)) {
    lines.push(line);
    if (line.startsWith('Open the address in a browser.')) break;
  }
  return lines;
}

async function statusOf(url: string, token: string): Promise<number> {
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
  await response.text();
  return response.status;
}

describe('toolscript keys', () => {
  it('prints a new key once, alone on stdout, and lists it without its secret', async () => {
    const added = await keys('add', 'ci', '--principal', 'ada', '--scopes', 'approve,read', '--expires', '90d');
    expect(added.status).toBe(0);
    expect(added.stdout).toMatch(/^tsk_[0-9a-f]{16}_[\w-]{43}\n$/u);
    expect(added.stderr).toMatch(/^The key is shown only this once\. It allows read, approve for ada, until /u);
    const listed = await keys('list', '--json');
    expect(JSON.parse(listed.stdout)).toEqual([
      {
        keyId: `key_${added.stdout.slice(4, 20)}`,
        name: 'ci',
        principal: 'ada',
        scopes: ['read', 'approve'],
        createdAt: expect.any(Number),
        expiresAt: expect.any(Number),
        state: 'active',
      },
    ]);
    const text = await keys();
    expect(text.stdout).toMatch(
      /^key_[0-9a-f]{16} {2}ci {2}read,approve {2}for ada, until \d{4}-\d\d-\d\d, made just now\n$/u,
    );
    expect(statSync(join(env.XDG_DATA_HOME!, 'toolscript/keys')).mode & 0o777).toBe(0o700);
  });

  it('gives the fewest permissions by default, to a principal of the same name', async () => {
    const { stdout } = await keys('add', 'phone', '--json');
    expect(JSON.parse(stdout)).toMatchObject({
      principal: 'phone',
      scopes: ['read', 'run'],
      token: expect.any(String),
    });
  });

  it('writes a key to a new file for its user alone, prints nothing of it, and creates no key if the file exists', async () => {
    const path = join(newFolder(), 'first.key');
    const added = await keys('add', 'ci', '--output', path);
    const token = readFileSync(path, 'utf8');
    expect(token).toMatch(/^tsk_[0-9a-f]{16}_[\w-]{43}\n$/u);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(added).toMatchObject({ status: 0, stderr: '' });
    expect(added.stdout).toBe(`key_${token.slice(4, 20)} is in ${path}, for your user alone.\n`);
    const again = await keys('add', 'ci', '--output', path);
    expect(again).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining('(EEXIST)') });
    expect(readFileSync(path, 'utf8')).toBe(token);
    expect(JSON.parse((await keys('list', '--json')).stdout)).toHaveLength(1);
  });

  it('leaves no file if the key cannot be stored', async () => {
    const path = join(newFolder(), 'first.key');
    const added = await keys('add', 'ci', '--store', 'postgres://127.0.0.1:1/none', '--output', path);
    expect([added.status, existsSync(path)]).toEqual([2, false]);
  });

  it('revokes all keys named by name or id, or none', async () => {
    const id = `key_${(await keys('add', 'one')).stdout.slice(4, 20)}`;
    await keys('add', 'two');
    expect(await keys('revoke', id, 'three')).toMatchObject({
      status: 2,
      stderr: 'toolscript: There is no API key three. To list the keys: toolscript keys list\n',
    });
    expect(await keys('revoke', id, 'two')).toMatchObject({ status: 0 });
    expect((await keys('list')).stdout).toBe('There are no API keys. Create one: toolscript keys add NAME\n');
  });

  it('writes to the audit log which keys were made and revoked, and for whom, without their secrets', async () => {
    const { stdout } = await keys('add', 'one', '--principal', 'ada');
    await keys('revoke', 'one');
    const lines = readFileSync(join(env.XDG_DATA_HOME!, 'toolscript/audit.jsonl'), 'utf8').trim().split('\n');
    const actor = { principal: 'local' };
    const entry = {
      actor,
      principal: 'ada',
      name: 'one',
      keyId: `key_${stdout.slice(4, 20)}`,
      scopes: ['read', 'run'],
    };
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      { ...entry, type: 'key_added', at: expect.any(String) },
      { ...entry, type: 'key_revoked', at: expect.any(String) },
    ]);
  });

  it('changes no key where the audit log cannot be written', async () => {
    mkdirSync(join(env.XDG_DATA_HOME!, 'toolscript/audit.jsonl'), { recursive: true });
    expect(await keys('add', 'one')).toMatchObject({
      status: 2,
      stdout: '',
      stderr: expect.stringMatching(
        /^toolscript: The audit log .* cannot be written \(EISDIR\), so the key one was not changed\. /u,
      ),
    });
    expect((await keys('list', '--json')).stdout.trim()).toBe('[]');
  });

  it('asks for the id if several keys have the name', async () => {
    await keys('add', 'ci');
    await keys('add', 'ci');
    const { status, stderr } = await keys('revoke', 'ci');
    expect(status).toBe(2);
    expect(stderr).toMatch(/^toolscript: ci is the name of 2 keys\. Name one by its id: key_\w+, key_\w+\n$/u);
  });

  it.each([
    [['add', 'a b'], 'key.name is not valid: must be 1 to 100 letters'],
    [
      ['add', 'ci', '--scopes', 'write'],
      '--scopes: there is no scope write. The scopes are read, run, approve, admin.',
    ],
    [['add', 'ci', '--expires', 'soon'], '--expires soon: give a number of days, such as 90d.'],
    [['add', 'ci', '--principal', 'a b'], 'key.principal is not valid'],
  ])('%j is an error that names its fix', async (args, message) => {
    const { status, stderr } = await keys(...args);
    expect(status).toBe(2);
    expect(stderr).toContain(message);
    expect(stderr.trim().split('\n')).toHaveLength(1);
    expect((await keys('list', '--json')).stdout.trim()).toBe('[]');
  });
});

describe('toolscript serve', () => {
  it('accepts a new key, and rejects a revoked one, while it runs', async () => {
    const [, url = ''] = /^(.*)\/#token=/u.exec(await serve())!;
    const token = (await keys('add', 'ci')).stdout.trim();
    expect(await statusOf(`${url}/api/v2/threads`, token)).toBe(200);
    await keys('revoke', 'ci');
    expect(await statusOf(`${url}/api/v2/threads`, token)).toBe(401);
  });

  it.each(['0.0.0.0', '::', 'some.name.example', '192.0.2.1'])(
    'does not listen at %s without an API key for other machines',
    async (host) => {
      const { status, stdout, stderr } = await toolscript(['serve', '--port', '0', '--host', host], { env });
      expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
      expect(stderr).toBe(
        `toolscript: Other machines can reach a server at ${host}, and there is no API key for them. Create one first: toolscript keys add NAME\n`,
      );
    },
  );

  it('for other machines does not print the local token where the output is not a terminal, and names its file', async () => {
    await keys('add', 'ci');
    const lines = await serveLines('--host', '0.0.0.0');
    const file = join(env['XDG_DATA_HOME']!, 'toolscript', 'server.token');
    expect(lines[0]).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/u);
    expect(lines[1]).toBe(`The token for requests from this machine is in ${file}.`);
    expect(lines.join('\n')).not.toContain(readFileSync(file, 'utf8').trim());
  });

  const outside = Object.values(networkInterfaces())
    .flat()
    .find((one) => one?.family === 'IPv4' && !one.internal)?.address;

  it.skipIf(outside === undefined)('takes keys, and not the local token, at an address of the network', async () => {
    const key = (await keys('add', 'ci')).stdout.trim();
    const [, port = ''] = /^http:\/\/127\.0\.0\.1:(\d+)\/$/u.exec(await serve('--host', '0.0.0.0'))!;
    const token = readFileSync(join(env['XDG_DATA_HOME']!, 'toolscript', 'server.token'), 'utf8').trim();
    expect(await statusOf(`http://${outside}:${port}/api/v2/threads`, key)).toBe(200);
    expect(await statusOf(`http://${outside}:${port}/api/v2/threads`, token)).toBe(401);
    expect(await statusOf(`http://127.0.0.1:${port}/api/v2/threads`, token)).toBe(200);
  });

  it.each([
    [['--allow-host', 'https://a.example'], 'is not a host name'],
    [['--allow-origin', '*'], 'is not an origin of a page'],
    [['--allow-origin', 'null'], 'is not an origin of a page'],
    [['--trusted-proxy', 'proxy'], 'is not an IP address'],
  ])('%j is an error that names its fix', async (args, message) => {
    const { status, stderr } = await toolscript(['serve', '--port', '0', ...args], { env });
    expect(status).toBe(2);
    expect(stderr).toContain(message);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });
});
