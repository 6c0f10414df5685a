import { spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createExec, type ExecInput } from '#tools/exec/exec.js';
import { sandboxedDisk } from '#tools/exec/sandbox/policy.js';
import { findSandbox, obstacles } from '#tools/exec/sandbox/requirements.js';
import { SYSTEM_SECRETS } from '#tools/exec/sandbox/secrets.js';
import { createWorkspace } from '#tools/files/workspace.js';
import { refusal } from '../support/temporary-folder.js';
import { sandboxProblem } from '@toolscript/testkit/exec-sandbox';
import { newFolder, put } from '@toolscript/testkit/folder';
import { withEnoughTime } from '@toolscript/testkit/enough-time';
import { until } from '@toolscript/testkit/until';

/** Not below /tmp, which the sandbox replaces: a failure here must be a rejection. */
const home = folderOutsideTemporary({
  '.ssh/id_ed25519': 'canary-key',
  '.aws/credentials': 'canary-key',
  '.gnupg/secret': 'canary-key',
  '.config/gh/hosts.yml': 'canary-key',
  '.config/toolscript/config.json': 'canary-key',
  '.local/share/toolscript/suspension.key': 'canary-key',
  'data/toolscript/suspension.key': 'another key',
  '.config/git/config': '[alias]\n\tok = status\n',
  '.cache/huggingface/token': 'canary-key',
  '.terraformrc': 'canary-key',
  '.terraform.d/credentials.tfrc.json': 'canary-key',
  '.databrickscfg': 'canary-key',
  '.subversion/auth/svn.simple/x': 'canary-key',
  '.ivy2/.credentials': 'canary-key',
  '.netrc': 'canary-key',
  '.npmrc': 'canary-key',
  '.bash_history': 'canary-key',
  '.mozilla/cookies': 'canary-key',
  'notes.txt': 'plain notes',
  'project/a.txt': 'a\n',
  'project/package.json': '{"name":"sample","version":"1.0.0"}\n',
  'project/sample.test.mjs': "import test from 'node:test';\ntest('passes', () => {});\n",
  'elsewhere/file': 'untouched\n',
});
const project = join(home, 'project');
const realHome = process.env['HOME'];
let exec: ReturnType<typeof createExec>;

beforeAll(() => {
  // Also before the sandbox's own process is started.
  process.env['HOME'] = home;
  process.env['PLANTED_API_KEY'] = 'canary-key';
  exec = createExec(createWorkspace({ roots: project }));
});

afterAll(() => {
  if (realHome === undefined) delete process.env['HOME'];
  else process.env['HOME'] = realHome;
  delete process.env['PLANTED_API_KEY'];
  rmSync(home, { recursive: true, force: true });
});

const sh = (script: string, more: Partial<ExecInput> = {}): ExecInput => ({ command: ['sh', '-c', script], ...more });
const nodeScript = (code: string): ExecInput => ({ command: [process.execPath, '-e', code] });

function folderOutsideTemporary(files: Record<string, string>): string {
  // A checkout may itself be below /tmp; the user's own folder is not.
  const cache = join(process.cwd(), 'node_modules/.cache');
  const place = /^\/(?:var\/)?tmp\//u.test(cache) ? join(homedir(), '.cache') : cache;
  mkdirSync(place, { recursive: true });
  const folder = realpathSync(mkdtempSync(join(place, 'toolscript-home-')));
  for (const [path, content] of Object.entries(files)) put(folder, path, content);
  return folder;
}

/** Processes of this machine with this text in their command line. */
function processesWith(text: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text);
      } catch {
        return false;
      }
    });
}

const noneLeft = (text: string): Promise<true> => until(() => processesWith(text).length === 0);
const someRun = (text: string): Promise<true> => until(() => processesWith(text).length > 0);

describe.runIf(sandboxProblem === undefined)('in the sandbox', () => {
  it('writing works in the workspace and in a separate temporary folder, which is deleted afterwards', async () => {
    const result = await exec(
      sh('echo new > b.txt && echo t > "$TMPDIR/sandbox-test-t" && cat b.txt /tmp/sandbox-test-t'),
    );
    expect(result).toMatchObject({ exitCode: 0, stdout: 'new\nt\n' });
    expect(readFileSync(join(project, 'b.txt'), 'utf8')).toBe('new\n');
    expect(existsSync('/tmp/sandbox-test-t')).toBe(false);
  });

  it.each([
    ['beside the workspace', '../elsewhere/file'],
    ['in the home folder', '../new-file'],
    ['in a system folder', '/etc/toolscript-test'],
    ['through a link', 'way-out/file'],
  ])('writing %s fails', async (_, target) => {
    if (!existsSync(join(project, 'way-out'))) symlinkSync(join(home, 'elsewhere'), join(project, 'way-out'));
    const result = await exec(sh(`echo changed > ${target}`));
    expect(result.exitCode).not.toBe(0);
    expect(readFileSync(join(home, 'elsewhere/file'), 'utf8')).toBe('untouched\n');
    expect(existsSync(join(home, 'new-file'))).toBe(false);
    expect(existsSync('/etc/toolscript-test')).toBe(false);
  });

  it('no secret of the home folder can be read, by any of its names; other files can', async () => {
    expect((await exec(sh('grep -rs canary-key "$HOME" /proc/self/root"$HOME" && echo found'))).stdout).toBe('');
    for (const file of ['.ssh/id_ed25519', '.netrc', '.npmrc', '.bash_history', '.config/toolscript/config.json'])
      expect((await exec({ command: ['cat', join(home, file)] })).stdout).toBe('');
    expect((await exec({ command: ['cat', join(home, 'notes.txt')] })).stdout).toBe('plain notes');
    expect((await exec({ command: ['cat', join(home, '.config/git/config')] })).stdout).toContain('alias');
  });

  it('the same applies if the workspace is the home folder itself', async () => {
    const wide = createExec(createWorkspace({ roots: home }));
    expect((await wide(sh('grep -rs canary-key . && echo found'))).stdout).toBe('');
    expect((await wide(sh('cat notes.txt; rm -rf .ssh/id_ed25519 .netrc'))).stdout).toBe('plain notes');
    expect(readFileSync(join(home, '.ssh/id_ed25519'), 'utf8')).toBe('canary-key');
    expect(readFileSync(join(home, '.netrc'), 'utf8')).toBe('canary-key');
  });

  it('a root that is read-only cannot be written', async () => {
    const library = newFolder({ 'l.txt': 'library\n' });
    const both = createExec(createWorkspace({ roots: [project, { path: library, access: 'read' }] }));
    const result = await both(sh(`cat ${library}/l.txt; echo changed > ${library}/l.txt`));
    expect(result).toMatchObject({ stdout: 'library\n' });
    expect(result.exitCode).not.toBe(0);
    expect(readFileSync(join(library, 'l.txt'), 'utf8')).toBe('library\n');
  });

  it('a listener on loopback cannot be reached, nor a local socket, nor a name', async () => {
    let connections = 0;
    const server = createServer(() => (connections += 1)).listen(0, '127.0.0.1');
    const socket = createServer(() => (connections += 1)).listen(join(project, 'local.sock'));
    await Promise.all([once(server, 'listening'), once(socket, 'listening')]);
    const { port } = server.address() as AddressInfo;
    const connect = (to: string): ExecInput =>
      nodeScript(
        `require('net').connect(${to}).on('connect', () => { console.log('connected'); process.exit() }).on('error', (e) => console.log(e.code))`,
      );
    expect((await exec(connect(`{ port: ${port}, host: '127.0.0.1' }`))).stdout).toBe('ECONNREFUSED\n');
    expect((await exec(connect(`{ path: 'local.sock' }`))).stdout).not.toContain('connected');
    expect((await exec(connect(`{ port: 80, host: 'example.com' }`))).stdout).not.toContain('connected');
    expect(connections).toBe(0);
    server.close();
    socket.close();
  });

  it('no key of the environment is visible, not even in other processes', async () => {
    expect((await exec({ command: ['env'] })).stdout).not.toContain('canary-key');
    expect((await exec(sh('cat /proc/*/environ | tr "\\0" "\\n" | grep -c canary-key'))).stdout).toBe('0\n');
    expect((await exec(sh('ls /proc | grep -c "^[0-9]"'))).stdout.trim().length).toBe(1);
  });

  it('the caller’s environment takes effect inside and never before', async () => {
    const planted = join(project, 'planted');
    mkdirSync(planted, { recursive: true });
    writeFileSync(join(planted, 'bwrap'), `#!/bin/sh\ntouch ${home}/escaped\nexec /usr/bin/bwrap "$@"\n`, {
      mode: 0o755,
    });
    const env = {
      PATH: `${planted}:${process.env['PATH']}`,
      BASH_ENV: join(planted, 'bwrap'),
      ENV: join(planted, 'bwrap'),
      LD_PRELOAD: '/nothing.so',
      QUOTED: `it's $HOME "\n`,
    };
    const result = await exec({ command: [process.execPath, '-p', 'process.env.QUOTED'], env });
    expect(result.stdout).toBe(`it's $HOME "\n\n`);
    expect(result.stderr).toContain('/nothing.so');
    expect(existsSync(join(home, 'escaped'))).toBe(false);
  });

  it('files that other programs execute or obey at the top of the workspace cannot be written, and no file is left', async () => {
    const repository = newFolder({
      '.git/hooks/x': '',
      '.git/config': '',
      '.vscode/tasks.json': '',
      'a.txt': '',
    });
    const there = createExec(createWorkspace({ roots: repository }));
    for (const file of ['.git/hooks/post-commit', '.git/config', '.vscode/tasks.json'])
      expect((await there(sh(`echo changed > ${file}`))).exitCode).not.toBe(0);
    await there({ command: ['true'] });
    expect(readdirSync(repository).toSorted()).toEqual(['.git', '.vscode', 'a.txt']);
  });

  it('arguments, start folder, streams and statuses are the same as without it', async () => {
    const command = ['printf', '%s\\n', '$HOME', '`id`', 'a b', "it's", '*', ';', '--', '', '\n'];
    expect((await exec({ command })).stdout).toBe(`${command.slice(2).join('\n')}\n`);
    mkdirSync(join(project, 'sub folder'), { recursive: true });
    expect((await exec({ command: ['pwd'], cwd: 'sub folder' })).stdout).toBe(`${join(project, 'sub folder')}\n`);
    expect(await exec(sh('echo out; echo err >&2; exit 3'))).toMatchObject({
      exitCode: 3,
      stdout: 'out\n',
      stderr: 'err\n',
    });
    expect((await exec(sh('kill -9 $$'))).exitCode).toBe(137);
    expect((await exec({ command: ['cat'] })).stdout).toBe('');
    expect(
      (await exec(sh('test -t 0 || test -t 1 || test -t 2 || (: < /dev/tty) 2>/dev/null || echo none'))).stdout,
    ).toBe('none\n');
  });

  it('ordinary commands work', async () => {
    const tested = await exec({ command: ['node', '--test'] });
    expect(tested.aggregatedOutput).toContain('pass 1');
    expect((await exec({ command: ['npm', '--version'] })).stdout).toMatch(/^\d+\.\d+/);
    expect((await exec(sh('git init -q . && git status --short'))).stdout).toContain('?? package.json\n');
  });

  it.each<[string, ExecInput, RegExp]>([
    ['a program that is not there', { command: ['no-such-program-here'] }, /^There is no program/],
    ['a path that is not there', { command: ['./none'] }, /^There is no program at/],
    ['a file that is no program', { command: ['./a.txt'] }, /is not executable/],
    ['arguments that are too long', { command: ['echo', 'x'.repeat(3_000_000)] }, /too long/],
  ])('a command is refused for %s', async (_, input, message) => {
    const error = await refusal(() => exec(input));
    expect(error.message).toMatch(message);
    expect(error.data['reason']).toBe('not_started');
  });
});

describe.runIf(sandboxProblem === undefined)('a sandboxed process tree', () => {
  const lasting = (mark: string): string =>
    `trap '' TERM HUP INT; setsid sh -c "trap '' TERM; sleep 71${mark} & sleep 72${mark}" & sleep 73${mark}; wait`;

  it('is killed at its time limit, including processes with their own sessions', async () => {
    const result = await withEnoughTime(
      500,
      (timeoutMs) => exec(sh(`echo started; ${lasting('.101')}`, { timeoutMs })),
      ({ stdout }) => stdout !== '',
    );
    expect(result).toMatchObject({ timedOut: true, stdout: 'started\n' });
    expect(result.exitCode).toBeGreaterThan(128);
    expect(await noneLeft('.101')).toBe(true);
  });

  it('is killed by an abort, and the call fails', async () => {
    const controller = new AbortController();
    const call = refusal(() => exec(sh(lasting('.102')), { signal: controller.signal }));
    await someRun('sleep\u000072.102');
    controller.abort();
    expect((await call).data['reason']).toBe('aborted');
    expect(await noneLeft('.102')).toBe(true);
  });

  it('ends with the command that started it', async () => {
    expect((await exec(sh('setsid sleep 71.103 & echo done'))).stdout).toBe('done\n');
    expect(await noneLeft('71.103')).toBe(true);
  });

  it('does not survive when the host is killed', async () => {
    const module = (path: string): string => JSON.stringify(fileURLToPath(import.meta.resolve(path)));
    const code = `
      const { createExec } = await import(${module('#tools/exec/exec.js')});
      const { createWorkspace } = await import(${module('#tools/files/workspace.js')});
      await createExec(createWorkspace({ roots: ${JSON.stringify(project)} }))({ command: ['sh', '-c', ${JSON.stringify(lasting('.104'))}] });`;
    const host = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: 'ignore' });
    await someRun('sleep\u000072.104');
    host.kill('SIGKILL');
    expect(await noneLeft('72.104')).toBe(true);
    expect(await noneLeft('71.104')).toBe(true);
  });

  it('reports its latest line while it runs, without terminal control characters', async () => {
    const told: string[] = [];
    await exec(sh('for i in 1 2 3; do printf "step $i \\033[31mred\\n"; sleep 0.4; done'), {
      progress: (line) => told.push(line),
    });
    expect(told.length).toBeGreaterThanOrEqual(1);
    expect(told.length).toBeLessThanOrEqual(3);
    expect(told.every((line) => /^step \d \\u001b\[31mred$/.test(line))).toBe(true);
  });
});

describe('a sandbox that is not available', () => {
  it('is reported with the missing part and the command that installs it', () => {
    const tools = newFolder();
    for (const name of ['socat', 'apt-get']) writeFileSync(join(tools, name), '#!/bin/sh\n', { mode: 0o755 });
    const options = { path: tools, systemFolders: [] };
    expect(findSandbox([], { ...options, platform: 'linux' })).toEqual({
      reason: 'The sandbox for commands needs programs that are not installed: bubblewrap.',
      fix: "Run: sudo apt-get install -y bubblewrap socat. To run commands without a sandbox, set exec.sandbox to 'off'.",
    });
    expect(findSandbox([], { ...options, platform: 'win32' })).toMatchObject({
      reason: 'The sandbox for commands does not work on win32.',
    });
  });

  it('never uses programs inside the workspace as its parts', () => {
    const folder = newFolder();
    for (const name of ['bwrap', 'socat']) writeFileSync(join(folder, name), '#!/bin/sh\n', { mode: 0o755 });
    const found = findSandbox([folder], { path: `${folder}:relative`, platform: 'linux' });
    expect(JSON.stringify(found)).not.toContain(folder);
    const elsewhere = newFolder();
    symlinkSync(folder, join(elsewhere, 'linked'));
    mkdirSync(join(elsewhere, 'bin'));
    symlinkSync(join(folder, 'bwrap'), join(elsewhere, 'bin/bwrap'));
    mkdirSync(join(folder, '..bin'));
    writeFileSync(join(folder, '..bin/bwrap'), '#!/bin/sh\n', { mode: 0o755 });
    const path = ['linked', 'bin']
      .map((name) => join(elsewhere, name))
      .concat(join(folder, '..bin'))
      .join(':');
    const through = findSandbox([folder], { path, platform: 'linux' });
    expect(through).not.toHaveProperty('bubblewrap', expect.stringMatching(/^(?!\/usr)/));
    expect(JSON.stringify(findSandbox([folder], { path, platform: 'darwin' }))).not.toMatch(/linked|\.\.bin/);
  });

  it('is rejected if the whole system is the workspace', () => {
    expect(findSandbox(['/'], { platform: 'linux' })).toMatchObject({ fix: expect.stringContaining('smaller folder') });
  });

  it('rejects a folder that would be read as a pattern', async () => {
    mkdirSync(join(project, 'a[1]'), { recursive: true });
    const there = createExec(createWorkspace({ roots: join(project, 'a[1]') }));
    expect((await refusal(() => there({ command: ['true'] }))).message).toMatch(/Rename the folder/);
  });

  it.runIf(process.platform === 'linux')('rejects a folder that it would replace by its own', async () => {
    const folder = mkdtempSync('/dev/shm/toolscript-workspace-');
    try {
      const there = createExec(createWorkspace({ roots: folder }));
      expect((await refusal(() => there({ command: ['true'] }))).message).toMatch(/\/dev or \/proc/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('ends a question when its process ends before it answers', async () => {
    const folder = newFolder();
    const program = [
      `process.env.TMPDIR = ${JSON.stringify(join(folder, 'removed'))};`,
      `const { createExec } = await import(${JSON.stringify(import.meta.resolve('#tools/exec/exec.js'))});`,
      `const { createWorkspace } = await import(${JSON.stringify(import.meta.resolve('#tools/files/workspace.js'))});`,
      `const there = createExec(createWorkspace({ roots: ${JSON.stringify(folder)} }));`,
      "await there({ command: ['true'] }).catch((error) => console.log(error.message));",
    ].join('\n');
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
    const [status] = (await once(child, 'close')) as [number | null];
    expect(said).toContain('the process of the sandbox ended');
    expect(status).toBe(0);
  });

  it('is not used if it is disabled: everything is allowed', async () => {
    const bare = createExec(createWorkspace({ roots: project }), { sandbox: 'off' });
    expect((await bare({ command: ['cat', join(home, '.ssh/id_ed25519')] })).stdout).toBe('canary-key');
  });
});

describe.runIf(sandboxProblem === undefined)('a secret that a variable names', () => {
  it.each(['cluster.yaml', 'a[1]/{b}?/*.yaml', 'with:colon', 'link'])('cannot be read at %s', async (name) => {
    put(home, 'kept/real', 'canary-key');
    if (name === 'link') symlinkSync(join(home, 'kept/real'), join(home, 'kept/link'));
    else put(home, `kept/${name}`, 'canary-key');
    process.env['KUBECONFIG'] = join(home, 'kept', name);
    try {
      const result = await exec(sh(`cat '${join(home, 'kept', name)}'; test '${name}' = link && cat ../kept/real`));
      expect(result.stdout).toBe('');
      expect((await exec({ command: ['cat', join(home, 'notes.txt')] })).stdout).toBe('plain notes');
    } finally {
      delete process.env['KUBECONFIG'];
    }
  });

  it('is hidden if it is a folder', async () => {
    put(home, 'docker[2]/config.json', 'canary-key');
    process.env['DOCKER_CONFIG'] = join(home, 'docker[2]');
    const result = await exec({ command: ['cat', join(home, 'docker[2]/config.json')] });
    delete process.env['DOCKER_CONFIG'];
    expect(result.stdout).toBe('');
  });
});

it.runIf(process.platform === 'linux')('the hashes of passwords are hidden from every user', async () => {
  expect(sandboxedDisk(createWorkspace({ roots: project })).denyRead).toContain('/etc/shadow');
  if (sandboxProblem === undefined) expect((await exec({ command: ['cat', '/etc/shadow'] })).stdout).toBe('');
});

it.runIf(process.platform === 'linux')('the files of a session and the secrets of a container are hidden', () => {
  const { denyRead } = sandboxedDisk(createWorkspace({ roots: project }));
  for (const path of ['/run/user', '/run/secrets']) if (existsSync(path)) expect(denyRead).toContain(path);
  expect(SYSTEM_SECRETS).toEqual(expect.arrayContaining(['/run/user', '/run/secrets']));
});

it.runIf(process.geteuid?.() === 0 && existsSync('/home'))("root's commands read no secrets of other homes", () => {
  const other = mkdtempSync('/home/toolscript-test-');
  put(other, '.ssh/id_ed25519', 'canary-key');
  const { denyRead } = sandboxedDisk(createWorkspace({ roots: project }));
  rmSync(other, { recursive: true });
  expect(denyRead).toContain(join(other, '.ssh'));
});

it('the locks and journals of file changes are hidden, even if a root contains them', () => {
  const stateFolder = join(project, 'state');
  const { denyRead } = sandboxedDisk(createWorkspace({ roots: project, stateFolder }));
  expect(denyRead).toContain(stateFolder);
  rmSync(stateFolder, { recursive: true });
});

it('the old files of changes are hidden, even if a root contains them', () => {
  const folder = join(project, 'changes');
  mkdirSync(folder);
  const { denyRead } = sandboxedDisk(createWorkspace({ roots: project, undo: { folder } }));
  expect(denyRead).toContain(folder);
  rmSync(folder, { recursive: true });
});

it('the warnings of the package are refusals', () => {
  expect(obstacles({ errors: [], warnings: ['seccomp not available'] })).toEqual(['seccomp not available']);
  expect(obstacles({ errors: [], warnings: [] })).toEqual([]);
});

it('the rules name the existing secrets', () => {
  const disk = sandboxedDisk(
    createWorkspace({ roots: project }),
    { KUBECONFIG: join(home, 'notes.txt'), XDG_DATA_HOME: join(home, 'data') },
    'linux',
  );
  expect(disk.denyRead).toContain(join(homedir(), '.ssh'));
  expect(disk.denyRead).toContain(join(home, 'notes.txt'));
  expect(disk.denyRead).toContain(join(home, 'data/toolscript'));
  expect(disk.allowWrite).toEqual([project]);
});
