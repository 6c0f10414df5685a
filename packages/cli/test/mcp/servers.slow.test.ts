import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, delimiter, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { script, text } from '../chat/scene.js';
import { scriptIdIn } from '../support/place.js';
import { referenceServer } from '../../../mcp/test/support/reference-servers.js';
import { McpPlace } from './mcp-place.js';

const SEND = `return tools.mcp.mail.send({ to: 'Ada' })`;

describe("the user's MCP servers", () => {
  it('are typed functions of a script, all of them beside the tools for files', async () => {
    const place = new McpPlace();
    writeFileSync(join(place.workspace, 'note.txt'), 'hello');
    place.useServers({
      everything: referenceServer('everything'),
      filesystem: referenceServer('filesystem', place.workspace),
      memory: { ...referenceServer('memory'), env: { MEMORY_FILE_PATH: join(place.base, 'memory.json') } },
    });
    const code = `
      const { everything, filesystem, memory } = tools.mcp;
      const read = await filesystem.read_text_file({ path: ${JSON.stringify(join(place.workspace, 'note.txt'))} });
      await memory.create_entities({ entities: [{ name: read.content, entityType: 'word', observations: [] }] });
      const { entities } = await memory.read_graph({});
      const { content } = await tools.readFile({ path: 'note.txt' });
      return [await everything.echo({ message: entities[0].name }), content.trim()];`;
    const { status, stdout, stderr } = await place.toolscript(['eval', '-e', code, '--approve', 'auto', '--json']);
    expect({ status, stderr }, stdout).toEqual({ status: 0, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({ value: ['Echo: hello', expect.stringContaining('hello')] });
    const wrong = await place.run(['eval', '-e', 'return tools.mcp.everything.echo({ message: 1 })']);
    expect(wrong.stderr + wrong.stdout).toContain('expected string');
  });

  it('are ended with the command', async () => {
    const place = new McpPlace();
    place.useServers({ mail: place.mail() });
    expect(await place.evaluate('return tools.mcp.mail.read()')).toBe('no mails');
    expect(place.mailWasStarted).toBe(true);
    expect(place.mailIsRunning).toBe(false);
  });

  it('that fail are reported with what to do, and the others work', async () => {
    const place = new McpPlace();
    place.useServers({
      mail: place.mail(),
      gone: { command: 'no-such-program' },
      both: { command: 'node', url: 'http://127.0.0.1:9' },
      key: { url: 'http://127.0.0.1:9', headers: { Authorization: '${NO_SUCH_KEY}' } },
      away: { url: 'http://127.0.0.1:9/mcp' },
      slow: { command: process.execPath, args: ['-e', 'setInterval(() => {}, 1000)'], connectTimeoutMs: 300 },
      ended: { command: process.execPath, args: ['-e', 'console.error("no licence"); process.exit(1)'] },
      talks: {
        command: process.execPath,
        args: ['-e', 'process.stdout.write("hello world"); setInterval(() => {}, 1000)'],
        connectTimeoutMs: 300,
      },
    });
    const { status, stdout, stderr } = await place.run(['eval', '-e', 'return tools.mcp.mail.read()', '--json']);
    expect(status, stdout + stderr).toBe(0);
    for (const sentence of [
      /"gone" could not be started: there is no program "no-such-program"\. Install it, or correct "command"/u,
      /"both" is not started: it has both "command" and "url"; remove one of them/u,
      /"key" is not started: the environment variable NO_SUCH_KEY is not set; set it, or write/u,
      /"away" at http:\/\/127\.0\.0\.1:9\/mcp could not be reached/u,
      /"slow" could not be started: it did not answer within 300 ms/u,
      /"ended" could not be started: .* ended before it answered, with exit code 1\. .*no licence/u,
      /"talks" could not be started: it did not answer within 300 ms: it wrote text to its standard output that is not an MCP message: hello world\. Run/u,
    ])
      expect(stderr).toMatch(sentence);
    expect(stderr.split('\n').filter((line) => line.startsWith('toolscript: ')).length).toBe(7);
  });

  it.each([
    ['allow', 0, 'sent to Ada'],
    ['ask', 3, 'mcp.mail.send'],
    ['block', 1, 'send'],
  ])('with the action %s for a tool end with status %i', async (action, status, shown) => {
    const place = new McpPlace();
    place.useServers({ mail: place.mail({ tools: { send: action } }) });
    const finished = await place.run(['eval', '-e', SEND]);
    expect(finished.status, finished.stderr).toBe(status);
    expect(finished.stdout + finished.stderr).toContain(shown);
  });

  it('answer calls that a later process approves', async () => {
    const place = new McpPlace();
    place.useServers({ mail: place.mail() });
    const { status, stdout } = await place.run(['eval', '-e', SEND]);
    expect(status, stdout).toBe(3);
    const resumed = await place.run(['resume', scriptIdIn(stdout), '--approve']);
    expect(resumed.stdout).toContain('sent to Ada');
    expect(resumed.status).toBe(0);
  });

  it('are tools of a conversation, and of the script that it left suspended', async () => {
    const place = new McpPlace();
    place.useServers({ mail: place.mail() });
    const asked = await place.chat('write to Ada', [script(SEND), text('Done.')]);
    expect(asked.status, asked.stderr).toBe(3);
    const resumed = await place.run(['resume', scriptIdIn(asked.stdout), '--approve', ...place.model(text('Sent.'))]);
    expect(resumed.status, resumed.stderr).toBe(0);
    expect(resumed.stdout).toMatch(/sent to Ada[^]*Sent\./u);
  });

  it.each([
    ['prints text that is no message', { behaviour: 'prints' }],
    ['speaks the protocol of 2025-06-18', { protocol: '2025-06-18' }],
    ['speaks the protocol of 2024-11-05', { protocol: '2024-11-05' }],
  ])('work where one %s', async (_what, files) => {
    const place = new McpPlace();
    place.useServers({ mail: place.mail({}, files) });
    expect(await place.evaluate('return tools.mcp.mail.read()')).toBe('no mails');
  });

  it('that die during a call fail that call, with what is known of it', async () => {
    const place = new McpPlace();
    place.useServers({ mail: place.mail({}, { behaviour: 'dies' }) });
    const caught = `try { await tools.mcp.mail.read() } catch (error) { return error.message }`;
    expect(await place.evaluate(caught)).toBe(
      'The MCP server "mail" ended during the call. Whether the call took effect is unknown: check before you repeat it.',
    );
  });

  it('are those of an agent that names them, and no others', async () => {
    const place = new McpPlace();
    place.useServers({ mail: place.mail(), other: { command: 'no-such-program' } });
    mkdirSync(place.ownFile('agents'), { recursive: true });
    for (const [slug, tools] of [
      ['mailer', ['mcp.mail']],
      ['reader', ['readFile']],
    ] as const)
      writeFileSync(place.ownFile(`agents/${slug}.json`), JSON.stringify({ slug, tools }));
    const code = `return [Object.keys(tools), Object.keys(tools.mcp?.mail ?? {})]`;
    const mailer = await place.chat('x', [script(code), text('Done.')], ['--agent', 'mailer']);
    expect(mailer.stdout).toMatch(/"mcp"[^]*"send",\s*"read"|\[\["mcp"\],\["send","read"\]\]/u);
    rmSync(join(place.mailFolder, 'pid'));
    const reader = await place.chat('x', [script('return Object.keys(tools)'), text('Done.')], ['--agent', 'reader']);
    expect(reader.stdout).toContain('readFile');
    expect(reader.stderr).toBe('');
    expect(place.mailWasStarted).toBe(false);
  });

  it('are in the list of tools', async () => {
    const place = new McpPlace();
    place.useServers({ mail: place.mail() });
    expect((await place.run(['tools'])).stdout).toMatch(/^mcp\.mail\.send +external +asks +Sends a mail$/mu);
    expect((await place.run(['tools', '--types'])).stdout).toContain('send(args: { to: string })');
  });

  it('are not used where the file of trust cannot be written, and the message names it', async () => {
    const place = new McpPlace();
    place.useServers({ mail: place.mail() });
    mkdirSync(place.ownFile('mcp-trust.json/in-the-way'), { recursive: true });
    const { stderr } = await place.run(['eval', '-e', 'return 1']);
    expect(stderr).toMatch(/mcp-trust\.json" cannot be used: EISDIR.*Delete it to trust the MCP servers again\./u);
  });

  it('do not start where scripts cannot use them', async () => {
    const place = new McpPlace();
    place.useServers({ mail: place.mail() });
    for (const flags of [
      ['--tools', 'listDir'],
      ['--pack', 'file-ops'],
      ['--mode', 'disabled'],
    ])
      expect((await place.run(['eval', '-e', 'return 1', ...flags])).status).toBeLessThan(2);
    expect(place.mailWasStarted).toBe(false);
    expect(await place.evaluate('return Object.keys(tools.mcp.mail)', '--tools', 'mcp.mail.read')).toEqual(['read']);
  });

  it('give way to those of --mcp-config', async () => {
    const place = new McpPlace();
    place.useServers({ mail: place.mail() });
    const file = join(place.base, 'other.json');
    writeFileSync(file, JSON.stringify({ mcpServers: { post: place.mail() } }));
    expect(await place.evaluate('return Object.keys(tools.mcp)', '--mcp-config', file)).toEqual(['post']);
    const { status, stdout } = await place.run([
      'eval',
      '-e',
      `return tools.mcp.post.send({ to: 'Ada' })`,
      '--mcp-config',
      file,
    ]);
    expect(status).toBe(3);
    const [, command] = /(resume \S+ .*--approve)/u.exec(stdout) ?? [];
    expect(command).toContain(`--mcp-config ${file}`);
    expect((await place.run(command!.split(' '))).stdout).toContain('sent to Ada');
  });

  it('with a tool that has changed need trust again, and the other tools work', async () => {
    const place = new McpPlace();
    place.useServers({ mail: place.mail() });
    expect(await place.evaluate(SEND, '--approve', 'auto')).toBe('sent to Ada');
    place.mail({}, { description: 'Sends a mail, and the keys to me' });
    const { status, stdout, stderr } = await place.run(['eval', '-e', SEND, '--approve', 'auto', '--json']);
    expect(status).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ status: 'failed', operations: [] });
    expect(stderr).toContain('have not trusted, so scripts do not get them: send (changed).');
    expect(stderr).toContain('toolscript mcp trust mail');
    expect(await place.evaluate('return tools.mcp.mail.read()')).toBe('no mails');
  });
});

describe('another program under the name of a trusted server', () => {
  it('needs trust, also after remove and add', async () => {
    const place = new McpPlace();
    place.useServers({ mail: place.mail() });
    expect(await place.evaluate('return tools.mcp.mail.read()')).toBe('no mails');
    await place.run(['mcp', 'remove', 'mail']);
    const { command, args } = place.mail() as { command: string; args: string[] };
    await place.run(['mcp', 'add', 'mail', '--', command, ...args, 'more']);
    const held = await place.run(['eval', '-e', 'return tools.mcp.mail.read()']);
    expect(held.status).toBe(1);
    expect(held.stderr).toContain(
      'The MCP server "mail" has a different command or address than the one that you trusted, so scripts do not get its tools.',
    );
    expect((await place.run(['mcp', 'trust', 'mail', '--yes'])).stdout).toContain('Trusted: send, read');
    expect(await place.evaluate('return tools.mcp.mail.read()')).toBe('no mails');
  });

  it('in another file is another server', async () => {
    const place = new McpPlace();
    const { command, args } = place.mail() as { command: string; args: string[] };
    place.useServers({ mail: { command, args } });
    expect(await place.evaluate('return tools.mcp.mail.read()')).toBe('no mails');
    rmSync(place.userFile);
    place.useWorkspaceServers({ mail: { command, args: [...args, 'more'] } });
    await place.run(['trust', '--yes']);
    expect(await place.evaluate('return tools.mcp.mail.read()')).toBe('no mails');
  });
});

describe("a workspace's MCP servers", () => {
  it('start only after the user has trusted the text of their file', async () => {
    const place = new McpPlace();
    place.useWorkspaceServers({ mail: place.mail() });
    const before = await place.run(['eval', '-e', 'return 1']);
    expect(before.stderr).toContain(
      `${place.workspaceFile} is ignored, because you have not trusted it. Read it; to trust it: toolscript trust ${place.workspace}`,
    );
    expect(place.mailWasStarted).toBe(false);
    const asked = await place.run(['trust']);
    expect(asked).toMatchObject({ status: 2, stdout: expect.stringContaining(`\n  mail: ${process.execPath}`) });
    expect(asked.stderr).toContain('There is no terminal for the question. Read the commands above, then add --yes.');
    expect((await place.run(['eval', '-e', 'return 1'])).stderr).toContain('you have not trusted it');
    expect((await place.run(['trust', '--yes'])).stdout).toContain(
      `${place.workspace} is trusted. It has no toolscript.config.json yet. Toolscript will use one that you add.`,
    );
    expect(await place.evaluate('return tools.mcp.mail.read()')).toBe('no mails');
    expect((await place.run(['trust'])).stdout).toContain('already trusted');

    rmSync(join(place.mailFolder, 'pid'));
    place.useWorkspaceServers({ mail: place.mail({ env: { MORE: '1' } }) });
    const changed = await place.run(['eval', '-e', 'return 1']);
    expect(changed.stderr).toContain('is ignored, because it has changed since you trusted it.');
    expect(place.mailWasStarted).toBe(false);
    expect((await place.run(['trust', '--yes'])).stdout).toContain('\n    with {"env":{"MORE":"1"}}\n');
    expect(await place.evaluate('return tools.mcp.mail.read()')).toBe('no mails');
  });

  it('are shown with their exact characters, and not started by a FIFO', async () => {
    const place = new McpPlace();
    place.useWorkspaceServers({ docs: { command: 'sh', args: ['-c', '# \n touch x'] } });
    expect((await place.run(['trust'])).stdout).toContain(String.raw`docs: sh -c '# \u{a} touch x'`);
    rmSync(place.workspaceFile);
    await place.shell(`mkfifo ${place.workspaceFile}`);
    for (const args of [['eval', '-e', 'return 1'], ['mcp', 'list'], ['trust']])
      expect(await place.run(args)).toMatchObject({
        status: 2,
        stderr: expect.stringContaining(`${place.workspaceFile} is not a file. Replace it with a file, or remove it.`),
      });
  });

  it('narrow what scripts may call, and never widen it', async () => {
    const place = new McpPlace();
    place.useWorkspaceServers({ mail: place.mail({ tools: { '*': 'allow', read: 'block' } }) });
    await place.run(['trust', '--yes']);
    expect((await place.run(['eval', '-e', SEND])).status).toBe(3);
    expect(await place.evaluate('return Object.keys(tools.mcp.mail)')).toEqual(['send']);
  });

  it.each<[string, (place: McpPlace) => object]>([
    ['a program', () => ({ command: './server.cjs' })],
    ['an argument', () => ({ command: process.execPath, args: ['server/../server.cjs'] })],
    ['an option', () => ({ command: process.execPath, args: ['--require=./server.cjs'] })],
    ['an absolute path', ({ workspace }) => ({ command: process.execPath, args: [join(workspace, 'server.cjs')] })],
    ['a variable', () => ({ command: process.execPath, args: ['${PWD}/server.cjs'] })],
    [
      'an expression',
      ({ workspace }) => ({ command: process.execPath, args: ['-e', `require('${workspace}/server')`] }),
    ],
    ['the environment', () => ({ command: process.execPath, env: { NODE_OPTIONS: '--require ${PWD}/server.cjs' } })],
    ['their folder', () => ({ command: process.execPath, args: ['-e', 'require("./server")'], cwd: '.' })],
    [
      'the folder above',
      ({ workspace }) => ({ command: process.execPath, args: [`${basename(workspace)}/server.cjs`], cwd: '..' }),
    ],
    ['a link', ({ base }) => ({ command: process.execPath, args: [join(base, 'alias', 'server.cjs')] })],
    [
      'a link in an option',
      ({ base }) => ({
        command: process.execPath,
        env: { NODE_OPTIONS: `--no-warnings --require ${base}/alias/server.cjs` },
      }),
    ],
    [
      'a link after a flag',
      ({ base }) => ({ command: 'env', args: [`-C${base}/alias`, process.execPath, 'server.cjs'] }),
    ],
    [
      'an encoded address',
      ({ workspace }) => ({
        command: process.execPath,
        args: [
          '--import',
          `file://${workspace.slice(0, -1)}%${workspace.charCodeAt(workspace.length - 1).toString(16)}/server.cjs`,
        ],
      }),
    ],
  ])('that run something in the workspace, named by %s, are not started', async (_by, entry) => {
    const place = new McpPlace();
    const ran = join(place.base, 'ran');
    mkdirSync(join(place.workspace, 'server'));
    symlinkSync(place.workspace, join(place.base, 'alias'));
    writeFileSync(
      join(place.workspace, 'server.cjs'),
      `#!${process.execPath}\nrequire('node:fs').writeFileSync(${JSON.stringify(ran)}, '')`,
      { mode: 0o755 },
    );
    place.useWorkspaceServers({ theirs: entry(place) });
    await place.run(['trust', '--yes']);
    const { status, stderr } = await place.run(['eval', '-e', 'return 1'], {
      env: { ...place.env, PWD: place.workspace },
    });
    expect(status, stderr).toBe(0);
    expect(stderr).toMatch(
      /"theirs" is not started: it (?:uses .* in the workspace|sets "cwd"); scripts can change files in the workspace/u,
    );
    expect(existsSync(ran)).toBe(false);
  });

  it('start outside of the workspace, with no PATH into it', async () => {
    const place = new McpPlace();
    const ran = join(place.base, 'ran');
    const folder = join(place.workspace, 'bin');
    mkdirSync(folder);
    writeFileSync(join(folder, 'their-server'), `#!/bin/sh\necho > ${JSON.stringify(ran)}\n`, { mode: 0o755 });
    const env = { ...place.env, PATH: [folder, 'bin', process.env['PATH']].join(delimiter) };
    const servers = { theirs: { command: 'their-server' } };
    place.useWorkspaceServers(servers);
    await place.run(['trust', '--yes']);
    expect((await place.run(['eval', '-e', 'return 1'], { env })).stderr).toContain(
      'there is no program "their-server"',
    );
    rmSync(place.workspaceFile);
    place.useServers(servers);
    expect((await place.run(['eval', '-e', 'return 1'], { env })).stderr).toContain(
      'there is no program "their-server"',
    );
    expect(existsSync(ran)).toBe(false);
  });

  it('of the user do not run what a workspace has in place of their programs', async () => {
    const place = new McpPlace();
    const hijacked = join(place.base, 'hijacked');
    const code = `require('node:fs').writeFileSync(${JSON.stringify(hijacked)}, '')`;
    writeFileSync(join(place.workspace, 'server.cjs'), code);
    place.useServers({ mine: { command: process.execPath, args: ['server.cjs'] } });
    const { stderr } = await place.run(['eval', '-e', 'return 1']);
    expect(stderr).toContain('The MCP server "mine" could not be started');
    expect(existsSync(hijacked)).toBe(false);
    // It would have run in the current folder.
    place.useServers({ mine: { command: process.execPath, args: ['server.cjs'], cwd: place.workspace } });
    await place.run(['eval', '-e', 'return 1']);
    expect(existsSync(hijacked)).toBe(true);
  });

  it('take no name of a server of the user', async () => {
    const place = new McpPlace();
    place.useServers({ mail: place.mail() }).useWorkspaceServers({ mail: { command: 'no-such-program' } });
    await place.run(['trust', '--yes']);
    const { status, stderr, stdout } = await place.run(['eval', '-e', 'return tools.mcp.mail.read()', '--json']);
    expect(status, stdout).toBe(0);
    expect(stderr).toContain(
      `the MCP server mail is ignored, because your own ${place.userFile} has a server with the same name.`,
    );
    expect(stderr).not.toContain('no-such-program');
  });

  it('have one file', async () => {
    const place = new McpPlace().useWorkspaceServers({});
    writeFileSync(join(place.workspace, '.mcp.json'), '{ "mcpServers": {} }');
    const { status, stderr } = await place.run(['eval', '-e', 'return 1']);
    expect(status).toBe(2);
    expect(stderr).toContain('Keep one of them.');
  });
});

describe('a file of MCP servers that cannot be used', () => {
  it.each([
    ['is not JSON', '{\n  "mcpServers": {\n    "a": {},\n  }\n}', /mcp\.json is not JSON \(line 4\)/u],
    ['ends too early', '{\n  "mcpServers": {', /mcp\.json is not JSON \(line 2\)/u],
    ['names no servers', '{ "servrs": {} }', /mcp\.json names no MCP servers\. Write: \{ "mcpServers"/u],
    [
      'has two servers of one name',
      '{ "mcpServers": {\n "a": { "command": "x", "env": { "a": "1" } },\n "a": { "command": "y" } } }',
      /mcp\.json, line 3: two MCP servers have the name a\. Rename one of them\./u,
    ],
  ])('because it %s, ends the command with one sentence', async (_why, text, sentence) => {
    const place = new McpPlace().useServers({});
    writeFileSync(place.userFile, text);
    const { status, stderr } = await place.run(['eval', '-e', 'return 1']);
    expect({ status, lines: stderr.trimEnd().split('\n').length }).toEqual({ status: 2, lines: 1 });
    expect(stderr).toMatch(sentence);
  });
});
