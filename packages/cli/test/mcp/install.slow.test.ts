import { mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync, lstatSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CLIENTS, type UserPlaces } from '#cli/mcp/client-configurations.js';
import { describe, expect, it } from 'vitest';
import { McpPlace } from './mcp-place.js';

const PROGRAM = { command: 'toolscript', args: ['mcp'] };
const PATH = '/home/ada/file';
const PLACES: UserPlaces = { home: '/home/ada', environment: {}, platform: 'linux' };

const FILES: Readonly<Record<string, string>> = {
  'claude-code': '{\n  "theme": "dark",\n  "mcpServers": {\n    "other": {\n      "command": "x"\n    }\n  }\n}\n',
  codex: 'model = "gpt"\n\n[mcp_servers.other]\ncommand = "x"\n\n[profiles.a]\nmodel = "b"\n',
  cursor: '',
  gemini: '{\n\t"ui": true\n}\n',
  opencode: '{\n  "mcp": {}\n}\n',
  vscode: '{\n  "servers": {}\n}\n',
};

describe.each(Object.entries(CLIENTS))('the configuration of %s', (client, { change, path }) => {
  const before = FILES[client]!;

  it('gets the gateway once, and keeps everything else', () => {
    const added = change(before, PROGRAM, PATH);
    expect(added).toContain('toolscript');
    expect(change(added, PROGRAM, PATH)).toBe(added);
    for (const word of before.match(/\w+/gu) ?? []) expect(added).toContain(word);
    expect(change(added, { command: 'node', args: ['a b', 'mcp'] }, PATH)).not.toContain('"toolscript", "mcp"');
  });

  it('is as before after the removal, and a removal without the gateway changes nothing', () => {
    const removed = change(change(before, PROGRAM, PATH), undefined, PATH);
    const isJson = client !== 'codex';
    if (isJson && before !== '') expect(JSON.parse(removed)).toMatchObject(JSON.parse(before) as object);
    if (!isJson) expect(removed).toBe(before);
    expect(removed).not.toContain('toolscript');
    expect(change(before, undefined, PATH)).toBe(before);
  });

  it('is in the folder of its user', () => {
    expect(path(PLACES)).toMatch(/^\/home\/ada\/\.\w/u);
  });
});

describe('a file that cannot be changed safely', () => {
  it.each([
    ['codex', 'mcp_servers = { a = { command = "x" } }', 'names its servers in one line'],
    [
      'vscode',
      '{ // comment\n}',
      'add this to its "servers" yourself: "toolscript": {"type":"stdio","command":"toolscript"',
    ],
    ['gemini', '{ "a": 1, }', 'has comments, or is not JSON (line 1), so it stays as it is'],
    ['claude-code', '{ "id": -12345678901234567890 }', 'has an integer beyond 2^53'],
    ['cursor', '{ "mcpServers": [] }', '"mcpServers" is not an object'],
  ])('of %s is refused: %s', (client, text, message) => {
    expect(() => CLIENTS[client]!.change(text, PROGRAM, PATH)).toThrow(message);
  });
});

it('a file with digits in texts and with other numbers is changed', () => {
  const before = '{ "a": "x \\" 12345678901234567890", "b": [1.5, 1e-30, 9007199254740991] }';
  expect(JSON.parse(CLIENTS['cursor']!.change(before, PROGRAM, PATH))).toMatchObject(JSON.parse(before) as object);
});

describe('toolscript mcp install', () => {
  it('shows the change, writes it, and removes it again; a link and the permissions stay', async () => {
    const place = new McpPlace();
    const home = join(place.base, 'home');
    const file = join(home, '.cursor', 'mcp.json');
    const target = join(home, 'dotfiles.json');
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(target, '{\n  "mcpServers": {\n    "other": { "command": "secret" }\n  }\n}\n', { mode: 0o640 });
    symlinkSync(target, file);
    const run = (...args: string[]) =>
      place.toolscript(['mcp', 'install', 'cursor', ...args], { env: { HOME: home, USERPROFILE: home } });

    const asked = await run();
    expect(asked).toMatchObject({ status: 2, stderr: expect.stringContaining('--yes') });
    expect(asked.stdout).toMatch(/^\+ .*"toolscript"/mu);
    expect(readFileSync(target, 'utf8')).not.toContain('toolscript');

    expect(await run('--yes')).toMatchObject({ status: 0, stdout: expect.stringContaining('Added.') });
    const { mcpServers } = JSON.parse(readFileSync(target, 'utf8')) as { mcpServers: Record<string, object> };
    expect(mcpServers).toMatchObject({
      other: { command: 'secret' },
      toolscript: { args: expect.arrayContaining(['mcp']) },
    });
    expect(lstatSync(file).isSymbolicLink()).toBe(true);
    if (process.platform !== 'win32') expect(statSync(target).mode & 0o777).toBe(0o640);
    expect((await run('--yes')).stdout).toContain('has Toolscript already');

    expect(await run('--remove', '--yes')).toMatchObject({ status: 0, stdout: expect.stringContaining('Removed.') });
    expect(readFileSync(target, 'utf8')).not.toContain('toolscript');
  });

  it('names the clients when it does not know one', async () => {
    const { status, stderr } = await new McpPlace().run(['mcp', 'install', 'emacs']);
    expect([status, stderr]).toEqual([
      2,
      expect.stringContaining('claude-code, codex, cursor, gemini, opencode, vscode'),
    ]);
  });
});
