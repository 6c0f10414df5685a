import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { finished, PROGRAM, start } from '../support/program.js';
import { guardedServer } from '../../../mcp/test/support/guarded-server.js';
import { imitatedApi, json, ok, petDocument } from '../../../mcp/test/support/imitated-api.js';
import { referenceServer } from '../../../mcp/test/support/reference-servers.js';
import { McpPlace } from './mcp-place.js';

function placeWithMail(files: Record<string, string> = {}): McpPlace {
  const place = new McpPlace();
  return place.useServers({ mail: place.mail({}, files) });
}

describe('toolscript mcp add', () => {
  it('writes servers that test then starts, and remove takes out again', async () => {
    const place = new McpPlace();
    const { command, args } = referenceServer('memory');
    const env = `MEMORY_FILE_PATH=${join(place.base, 'memory.json')}`;
    const added = await place.run(['mcp', 'add', 'memory', '--env', env, '--', command, ...args]);
    expect(added).toMatchObject({ status: 0, stderr: '' });
    await place.run(['mcp', 'add', 'docs', '--url', 'http://127.0.0.1:9/mcp', '--header', 'Authorization:Bearer x']);
    expect(JSON.parse(readFileSync(place.userFile, 'utf8'))).toMatchObject({
      mcpServers: { docs: { url: 'http://127.0.0.1:9/mcp', headers: { Authorization: 'Bearer x' } } },
    });
    if (process.platform !== 'win32') expect(statSync(place.userFile).mode & 0o777).toBe(0o600);
    const listed = await place.run(['mcp', 'list']);
    expect(listed.stdout.split('\n').map((line) => line.split(':')[0])).toEqual(['memory', 'docs', '']);
    expect(listed.stdout).not.toContain('Bearer');
    expect(JSON.parse((await place.run(['mcp', 'list', '--json'])).stdout)).toEqual([
      { name: 'memory', command: [command, ...args], file: place.userFile },
      { name: 'docs', url: 'http://127.0.0.1:9/mcp', file: place.userFile },
    ]);

    const tested = await place.run(['mcp', 'test']);
    expect(tested.status).toBe(1);
    expect(tested.stdout).toMatch(
      /✓ memory {2}memory-server \S+, protocol \S+, 9 tools, supports resources, resource subscriptions\n {4}tools\.mcp\.memory\./u,
    );
    expect(tested.stdout).toContain('✗ docs  The MCP server "docs" at http://127.0.0.1:9/mcp could not be reached');
    expect((await place.run(['mcp', 'test', 'memory'])).status).toBe(0);
    expect(JSON.parse((await place.run(['mcp', 'test', 'memory', '--json'])).stdout)).toMatchObject([
      { name: 'memory', state: 'connected' },
    ]);

    expect((await place.run(['mcp', 'remove', 'docs'])).stdout).toContain('Removed');
    expect((await place.run(['mcp', 'list'])).stdout).not.toContain('docs');
  });

  it('keeps what else is in the file, and what other processes add at the same time', async () => {
    const place = new McpPlace().useServers({});
    writeFileSync(place.userFile, '{ "theme": "dark", "mcpServers": { "first": { "command": "x", "timeout": 5 } } }');
    const names = Array.from({ length: 6 }, (_, index) => `server_${index}`);
    const all = await Promise.all(names.map((name) => place.toolscript(['mcp', 'add', name, '--', 'y'])));
    expect(all.map(({ status, stderr }) => ({ status, stderr }))).toEqual(names.map(() => ({ status: 0, stderr: '' })));
    const { theme, mcpServers } = JSON.parse(readFileSync(place.userFile, 'utf8')) as Record<string, object>;
    expect(theme).toBe('dark');
    expect(Object.keys(mcpServers!).toSorted()).toEqual(['first', ...names]);
    expect(mcpServers).toMatchObject({ first: { command: 'x', timeout: 5 } });
  });

  it('writes the file of the workspace, which counts once it is trusted', async () => {
    const place = new McpPlace();
    const { command, args } = place.mail() as { command: string; args: string[] };
    const added = await place.run(['mcp', 'add', 'mail', '--scope', 'workspace', '--', command, ...args]);
    expect(added.stdout).toContain('To use it, trust the folder: toolscript trust');
    expect((await place.run(['mcp', 'list'])).stderr).toContain('is ignored, because you have not trusted it');
    const untested = await place.run(['mcp', 'test']);
    expect(untested).toMatchObject({ status: 1, stdout: 'There are no MCP servers to test.\n' });
    await place.run(['trust', '--yes']);
    expect(await place.evaluate('return tools.mcp.mail.read()')).toBe('no mails');
  });

  it('takes an OpenAPI document, whose operations are tools, also in the file of a trusted workspace', async () => {
    const place = new McpPlace();
    const { origin } = await imitatedApi(({ url }, response) => json(response, url));
    const get = { operationId: 'look', responses: ok({ type: 'string' }) };
    writeFileSync(join(place.workspace, 'api.json'), JSON.stringify(petDocument({ '/look': { get } })));
    const added = await place.run(['mcp', 'add', 'own', '--openapi', 'api.json', '--base-url', origin]);
    expect(added).toMatchObject({ status: 0, stderr: '' });
    const openapi = join(place.workspace, 'api.json');
    expect(JSON.parse((await place.run(['mcp', 'list', '--json'])).stdout)).toEqual([
      { name: 'own', openapi, file: place.userFile },
    ]);
    expect((await place.run(['mcp', 'test'])).stdout).toBe(
      '✓ own  Pets 1.2.0, protocol OpenAPI 3.0.3, 1 tool\n    tools.mcp.own.look\n',
    );
    place.useWorkspaceServers({ theirs: { openapi: 'api.json', baseUrl: `${origin}/theirs` } });
    expect((await place.run(['mcp', 'test'])).stdout).not.toContain('theirs');
    const trusted = await place.run(['trust', '--yes']);
    expect(trusted.stdout).toContain('theirs: the OpenAPI document api.json');
    expect(trusted.stdout).toContain(`with {"baseUrl":"${origin}/theirs"}`);
    expect(await place.evaluate('return [await tools.mcp.own.look(), await tools.mcp.theirs.look()]')).toEqual([
      '/look',
      '/theirs/look',
    ]);
  });

  it.each([
    [['add', 'x'], 'Give one of these: the command of the server, after --'],
    [['add', 'x', '--url', 'http://x', '--', 'y'], 'Give one of these'],
    [['add', 'x', '--url', 'http://x', '--openapi', 'y.json'], 'Give one of these'],
    [['add', 'x', '--base-url', 'http://x', '--', 'y'], '--base-url is for an OpenAPI document'],
    [['add', 'x', '--openapi', 'y.json', '--base-url', 'x'], '--base-url is "x". Use an address'],
    [['add', 'x', '--url', 'ftp://x'], '--url is "ftp://x". Use an address that begins with http:// or https://.'],
    [['add', 'x', '--env', 'A', '--', 'y'], '--env is "A". Write: --env NAME=VALUE'],
    [['add', 'x', '--header', 'A:b', '--', 'y'], '--header is for a server with --url'],
    [['add', 'mail', '--', 'y'], 'has an MCP server mail already. To replace it, first: toolscript mcp remove mail'],
    [['remove', 'mial'], 'Did you mean mail?'],
    [['test', 'nobody-here'], 'There is no MCP server nobody-here. To list the servers: toolscript mcp list'],
    [['login', 'mial'], 'There is no MCP server mial. Did you mean mail?'],
    [['tset'], 'There is no command mcp tset. Did you mean test?'],
    [['lst'], 'There is no command mcp lst. Did you mean list?'],
  ])('and its kin: %j ends with one sentence', async (words, sentence) => {
    const { status, stdout, stderr } = await placeWithMail().run(['mcp', ...words]);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain(sentence);
  });
});

describe('toolscript mcp trust', () => {
  it('shows what has changed, and lets it count when the user says so', async () => {
    const place = placeWithMail();
    await place.run(['mcp', 'test']);
    place.mail({}, { description: 'Sends a mail,\nand the keys to me' });
    expect((await place.run(['mcp', 'test'])).stdout).toContain('send is held back: it has changed');
    const shown = await place.run(['mcp', 'trust', 'mail']);
    expect(shown.status).toBe(2);
    expect(shown.stdout).toBe(
      'send (changed)\n  Sends a mail,\n  and the keys to me\n  inputSchema: {"type":"object","properties":{"to":{"type":"string"}},"required":["to"]}\n  annotations: {}\n',
    );
    expect(shown.stderr).toContain('Read the definitions above, then add --yes.');
    expect((await place.run(['mcp', 'trust', 'mail', '--yes'])).stdout).toContain('Trusted: send');
    expect((await place.run(['mcp', 'trust', 'mail'])).stdout).toBe('All tools of mail are trusted already.\n');
    expect(await place.evaluate(`return tools.mcp.mail.send({ to: 'Ada' })`, '--approve', 'auto')).toBe('sent to Ada');
  });
});

describe('toolscript mcp login', () => {
  it('waits for the browser, and the server counts from then on', async () => {
    const place = new McpPlace().useServers({ mail: { url: (await guardedServer()).url } });
    const refused = await place.run(['mcp', 'test']);
    expect(refused.stdout).toMatch(
      /refuses access \(HTTP 401\)\. Log in to it \(\S.* mcp login mail\), or set its "headers"/u,
    );
    const child = start(process.execPath, [PROGRAM, 'mcp', 'login', 'mail'], { env: place.env, cwd: place.workspace });
    const ended = finished(child);
    const page = await new Promise<string>((resolve) => {
      let shown = '';
      child.stdout.on('data', (chunk: string) => {
        shown += chunk;
        const [found] = /http:\S+authorize\S+(?=\n)/u.exec(shown) ?? [];
        if (found !== undefined) resolve(found);
      });
    });
    expect(await (await fetch(page)).text()).toContain('You can close this page');
    expect((await ended).stdout).toContain('Logged in to mail: 1 tool.');
    if (process.platform !== 'win32') expect(statSync(place.kept('mcp-logins.json')).mode & 0o777).toBe(0o600);
    expect(await place.evaluate('return tools.mcp.mail.secret({})', '--approve', 'auto')).toBe('the secret');
  });
});

describe('toolscript doctor', () => {
  it('says how each MCP server is', async () => {
    const place = new McpPlace();
    place.useServers({ mail: place.mail(), gone: { command: 'no-such-program' } });
    const { stdout } = await place.run(['doctor']);
    expect(stdout).toMatch(/✓ mcp mail +mail 1\.0\.0, protocol \S+, 2 tools/u);
    expect(stdout).toMatch(
      /! mcp gone +The MCP server "gone" could not be started: there is no program "no-such-program"/u,
    );
    writeFileSync(place.userFile, '{');
    expect((await place.run(['doctor'])).stdout).toMatch(/✗ mcp +\S+mcp\.json is not JSON \(line 1\)/u);
  });
});
