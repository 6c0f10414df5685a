import { once } from 'node:events';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { createExec, type ExecInput } from '#tools/exec/exec.js';
import { commandPermissions } from '#tools/exec/permissions.js';
import { findProgram } from '#tools/exec/program.js';
import { createWorkspace } from '#tools/files/workspace.js';
import { refusal } from '../support/temporary-folder.js';
import { newFolder } from '@toolscript/testkit/folder';
import { withEnoughTime } from '@toolscript/testkit/enough-time';
import { until } from '@toolscript/testkit/until';

let folder: string;
let exec: ReturnType<typeof createExec>;

beforeAll(() => {
  folder = newFolder({ 'sub/x': '', 'not-a-program': 'text', file: '' });
  symlinkSync('/', join(folder, 'out'));
  exec = createExec(createWorkspace({ roots: folder }), { sandbox: 'off' });
});

const sh = (script: string, more: Partial<ExecInput> = {}): ExecInput => ({ command: ['sh', '-c', script], ...more });

const node = (code: string): ExecInput => ({ command: [process.execPath, '-e', code] });

/** The path of a module of the package, as source code. */
const tools = (path: string): string => JSON.stringify(fileURLToPath(import.meta.resolve(path)));

const descriptors = (): number => readdirSync('/proc/self/fd').length;

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A zombie that its parent has not collected yet is dead too.
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
  } catch {
    return false;
  }
}

/** Waits until a file holds a process id. */
async function pidIn(path: string): Promise<number> {
  for (;;) {
    const text = existsSync(path) ? readFileSync(path, 'utf8').trim() : '';
    if (text !== '') return Number(text);
    await sleep(5);
  }
}

const dies = (pid: number): Promise<true> => until(() => !isAlive(pid));

it('a program is never searched in a relative folder', () => {
  expect(findProgram('sh', 'bin:/nowhere', '/')).toBeUndefined();
  expect(findProgram('sh', 'bin:/bin', '/')).toBe('/bin/sh');
});

describe('relative folders on PATH', () => {
  const path = process.env['PATH'] ?? '';

  it.each(['sub', '.', '', './sub'])('find no program in the workspace: %j', async (entry) => {
    const planted = newFolder({ 'sub/x': '' });
    for (const name of ['planted', 'sub/planted'])
      writeFileSync(join(planted, name), '#!/bin/sh\necho planted\n', { mode: 0o755 });
    process.env['PATH'] = `${entry}:${path}`;
    try {
      for (const sandbox of ['off', 'on'] as const) {
        const there = createExec(createWorkspace({ roots: planted }), { sandbox });
        const error = await refusal(() => there({ command: ['planted'] }));
        expect(['not_started', 'unavailable']).toContain(error.data['reason']);
      }
      const inner = await createExec(createWorkspace({ roots: planted }), { sandbox: 'off' })(sh('planted'));
      expect(inner.exitCode).toBe(127);
      const permissions = commandPermissions(createWorkspace({ roots: planted }), { command: ['true'] });
      expect(permissions).toEqual(['exec:true']);
    } finally {
      process.env['PATH'] = path;
    }
  });
});

describe('a command that ends', () => {
  it('gives its streams, their order of arrival, its status and its duration', async () => {
    const result = await exec(sh('echo out; sleep 0.05; echo err >&2; sleep 0.05; echo more; exit 3'));
    expect(result).toMatchObject({
      exitCode: 3,
      stdout: 'out\nmore\n',
      stderr: 'err\n',
      aggregatedOutput: 'out\nerr\nmore\n',
      timedOut: false,
      truncated: false,
    });
    expect(Number.isInteger(result.durationMs)).toBe(true);
  });

  it('by a signal has 128 plus its number as status', async () => {
    expect((await exec(sh('kill -9 $$'))).exitCode).toBe(137);
    expect((await exec(sh('kill -15 $$'))).exitCode).toBe(143);
  });

  it('gets its arguments without a shell', async () => {
    const command = ['printf', '%s\\n', '$HOME', '`id`', 'a b', "it's", '*', ';', '--', ''];
    expect((await exec({ command })).stdout).toBe(`${command.slice(2).join('\n')}\n`);
  });

  it('has no input and no terminal', async () => {
    expect((await exec({ command: ['cat'] })).stdout).toBe('');
    expect((await exec(sh('test -t 0 || test -t 1 || test -t 2 || echo none'))).stdout).toBe('none\n');
  });

  it('starts in the workspace, or in a folder of it', async () => {
    expect((await exec({ command: ['pwd'] })).stdout).toBe(`${folder}\n`);
    expect((await exec({ command: ['/bin/pwd'], cwd: 'sub' })).stdout).toBe(`${join(folder, 'sub')}\n`);
    writeFileSync(join(folder, 'sub/run.sh'), '#!/bin/sh\necho ran\n', { mode: 0o755 });
    expect((await exec({ command: ['./run.sh'], cwd: 'sub' })).stdout).toBe('ran\n');
  });
});

describe('the environment', () => {
  it('contains no key of the host, and the added variables', async () => {
    process.env['PLANTED_API_KEY'] = 'canary';
    process.env['AWS_SECRET_ACCESS_KEY'] = 'canary';
    process.env['LC_TIME'] = 'C';
    try {
      const { stdout } = await exec({ command: ['env'], env: { ADDED: 'x=y z', LANG: 'xx' } });
      expect(stdout).not.toContain('canary');
      const names = stdout
        .split('\n')
        .filter(Boolean)
        .map((line) => line.slice(0, line.indexOf('=')));
      const allowed = /^(?:PATH|HOME|LANG|LANGUAGE|LC_[A-Z]+|TERM|TMPDIR|USER|LOGNAME|SHELL|TZ|PWD|ADDED)$/;
      expect(names.filter((name) => !allowed.test(name))).toEqual([]);
      expect(stdout).toContain('ADDED=x=y z\n');
      expect(stdout).toContain('LANG=xx\n');
      expect(stdout).toContain(`PATH=${process.env['PATH']}\n`);
    } finally {
      for (const name of ['PLANTED_API_KEY', 'AWS_SECRET_ACCESS_KEY', 'LC_TIME']) delete process.env[name];
    }
  });

  it('includes further variables that the host allows', async () => {
    process.env['CI_FLAVOUR'] = 'plain';
    const more = createExec(createWorkspace({ roots: folder }), { passEnvironment: ['CI_FLAVOUR'], sandbox: 'off' });
    expect((await more({ command: ['env'] })).stdout).toContain('CI_FLAVOUR=plain\n');
    expect((await exec({ command: ['env'] })).stdout).not.toContain('CI_FLAVOUR');
    delete process.env['CI_FLAVOUR'];
  });
});

describe('a command that does not start is rejected for', () => {
  it.each<[string, ExecInput, string, RegExp]>([
    [
      'a program that is not there',
      { command: ['no-such-program-here'] },
      'not_started',
      /^There is no program 'no-such-program-here' on PATH\. Install it, or give its path\.$/,
    ],
    [
      'a path that is not there',
      { command: ['./none'] },
      'not_started',
      /^There is no program at '.\/none'\. Check the path\.$/,
    ],
    ['a file that is no program', { command: ['./not-a-program'] }, 'not_started', /is not executable/],
    ['a folder', { command: ['./sub'] }, 'not_started', /is not executable/],
    ['an empty command', { command: [] }, 'not_started', /names no program/],
    ['an empty program', { command: [''] }, 'not_started', /names no program/],
    ['a NUL byte in an argument', { command: ['echo', 'a\0b'] }, 'not_started', /NUL/],
    ['a NUL byte in the environment', { command: ['env'], env: { A: 'a\0b' } }, 'not_started', /NUL/],
    ['a bad name in the environment', { command: ['env'], env: { 'A=B': 'c' } }, 'not_started', /environment variable/],
    ['arguments that are too long', { command: ['echo', 'x'.repeat(3_000_000)] }, 'not_started', /too long/],
    ['a start folder outside', { command: ['pwd'], cwd: '..' }, 'outside', /outside/],
    ['a start folder behind a link', { command: ['pwd'], cwd: 'out' }, 'link_outside', /link/],
    ['a start folder that is missing', { command: ['pwd'], cwd: 'none' }, 'missing', /does not exist/],
    ['a start folder that is a file', { command: ['pwd'], cwd: 'file' }, 'not_a_folder', /not a folder/],
  ])('%s', async (_, input, reason, message) => {
    const error = await refusal(() => exec(input));
    expect(error.message).toMatch(message);
    expect(error.data['reason']).toBe(reason);
  });
});

describe('long output', () => {
  it('keeps its head and its tail and says how much is missing', async () => {
    const result = await exec(sh('seq 1 200000; echo the end >&2'), { maxOutputBytes: 4096 });
    expect(result.truncated).toBe(true);
    expect(result.stdout).toMatch(/^1\n2\n[^]*\n… \d+ bytes omitted …\n[^]*199999\n200000\n$/);
    const [head, tail] = result.stdout.split(/\n… \d+ bytes omitted …\n/);
    const omitted = Number(/… (\d+) bytes/.exec(result.stdout)![1]);
    const total = Array.from({ length: 200000 }, (_, index) => String(index + 1).length + 1).reduce(
      (one, other) => one + other,
    );
    expect(head!.length + tail!.length + omitted).toBe(total);
    expect(head!.length + tail!.length).toBeLessThanOrEqual(4096);
    expect(result.stderr).toBe('the end\n');
    expect(result.aggregatedOutput).toContain('bytes omitted');
  });

  it('is not truncated if it just fits', async () => {
    expect(await exec(sh('printf %04096d 0'), { maxOutputBytes: 4096 })).toMatchObject({ truncated: false });
    expect(await exec(sh('printf %04097d 0'), { maxOutputBytes: 4096 })).toMatchObject({ truncated: true });
  });

  it('is never truncated inside a character', async () => {
    for (const limit of [100, 101, 102, 103]) {
      const result = await exec(node("process.stdout.write('😀é'.repeat(20000))"), { maxOutputBytes: limit });
      expect(result.stdout).not.toContain('\uFFFD');
      expect(result.truncated).toBe(true);
    }
    const pieces = await exec(
      node(
        "const b = Buffer.from('😀'); let i = 0; const t = setInterval(() => { process.stdout.write(b.subarray(i, ++i)); if (i === 4) clearInterval(t); }, 20)",
      ),
    );
    expect(pieces.stdout).toBe('😀');
    expect(pieces.aggregatedOutput).toBe('😀');
  });

  it('stays small enough for a result if it is not text', async () => {
    const result = await exec(sh('head -c 2000000 /dev/urandom; head -c 2000000 /dev/zero >&2'));
    expect(Buffer.byteLength(JSON.stringify(result))).toBeLessThan(1024 * 1024);
    expect(result.truncated).toBe(true);
  });

  it('uses bounded memory for any length', async () => {
    const before = process.memoryUsage.rss();
    const result = await exec(sh('head -c 300000000 /dev/zero | tr "\\0" x'));
    expect(result.truncated).toBe(true);
    expect(process.memoryUsage.rss() - before).toBeLessThan(150 * 1024 * 1024);
  });
});

describe.runIf(process.platform === 'linux')('a process tree', () => {
  it('is killed at its time limit, and the result says so', async () => {
    const pidFile = join(folder, 'grandchild-1');
    const result = await withEnoughTime(
      300,
      (timeoutMs) => exec(sh(`sleep 60 & echo $! > ${pidFile}; echo started; wait`, { timeoutMs })),
      ({ stdout }) => stdout !== '',
    );
    expect(result).toMatchObject({ timedOut: true, exitCode: 143, stdout: 'started\n' });
    expect(await dies(await pidIn(pidFile))).toBe(true);
  });

  it('that ignores SIGTERM is killed with SIGKILL', async () => {
    const pidFile = join(folder, 'stubborn');
    const result = await withEnoughTime(
      300,
      (timeoutMs) => exec(sh(`trap '' TERM; echo $$ > ${pidFile}; while :; do sleep 0.05; done`, { timeoutMs })),
      () => existsSync(pidFile),
    );
    expect(result).toMatchObject({ timedOut: true, exitCode: 137 });
    expect(await dies(await pidIn(pidFile))).toBe(true);
  });

  it('may end by itself at the time limit', async () => {
    const result = await withEnoughTime(
      300,
      (timeoutMs) => exec(sh("trap 'echo bye; exit 7' TERM; echo hi; while :; do sleep 0.02; done", { timeoutMs })),
      ({ stdout }) => stdout !== '',
    );
    expect(result).toMatchObject({ timedOut: true, exitCode: 7, stdout: 'hi\nbye\n' });
  });

  it('is killed by an abort, including grandchildren that ignore SIGTERM, and the call fails', async () => {
    const pidFile = join(folder, 'grandchild-2');
    const controller = new AbortController();
    const call = refusal(() =>
      exec(sh(`sh -c 'trap "" TERM; echo $$ > ${pidFile}; while :; do sleep 0.05; done' & wait`), {
        signal: controller.signal,
      }),
    );
    const pid = await pidIn(pidFile);
    controller.abort();
    expect((await call).data['reason']).toBe('aborted');
    expect(await dies(pid)).toBe(true);
  });

  it('does not start for a call that was already aborted', async () => {
    const error = await refusal(() => exec(sh('touch started-anyway'), { signal: AbortSignal.abort() }));
    expect(error.data['reason']).toBe('aborted');
    expect(existsSync(join(folder, 'started-anyway'))).toBe(false);
  });

  it('whose grandchild holds the pipes does not delay the call, and none of it survives', async () => {
    const pidFile = join(folder, 'grandchild-3');
    const result = await exec(sh(`sleep 60 & echo $! > ${pidFile}; echo done`));
    expect(result).toMatchObject({ exitCode: 0, stdout: 'done\n', timedOut: false });
    expect(await dies(await pidIn(pidFile))).toBe(true);
  });

  it('whose grandchild has its own session does not delay the call either', async () => {
    const pidFile = join(folder, 'grandchild-4');
    const result = await exec(sh(`setsid sh -c 'echo $$ > ${pidFile}; sleep 60' & echo done`));
    expect(result).toMatchObject({ exitCode: 0, stdout: 'done\n' });
    const pid = await pidIn(pidFile);
    process.kill(pid, 'SIGKILL');
  });

  it.each(['exits', 'is killed'])('ends with all that it has started when the host %s', async (how) => {
    const pidFile = join(folder, `grandchild-5-${how.length}`);
    const host = spawn(
      process.execPath,
      [
        '--input-type=module',
        '-e',
        `
      const { createExec } = await import(${tools('#tools/exec/exec.js')});
      const { createWorkspace } = await import(${tools('#tools/files/workspace.js')});
      createExec(createWorkspace({ roots: ${JSON.stringify(folder)} }), { sandbox: 'off' })({ command: ['sh', '-c', 'sleep 6000 & echo $! > ${pidFile}; sleep 6000'] });
      process.stdin.on('data', (text) => \`\${text}\` === 'go' ? process.exit(0) : process.stdout.write('here'));`,
      ],
      { stdio: ['pipe', 'pipe', 'inherit'] },
    );
    const pid = await pidIn(pidFile);
    expect(isAlive(pid)).toBe(true);
    // A host that answers has left the turn in which it started the command.
    host.stdin.write('?');
    await once(host.stdout, 'data');
    if (how === 'exits') host.stdin.write('go');
    else host.kill('SIGKILL');
    expect(await dies(pid)).toBe(true);
  });

  it('leaves no listener and no open file', async () => {
    mkdirSync(join(folder, 'many'));
    await exec({ command: ['true'] });
    const [listeners, before] = [process.listenerCount('exit'), descriptors()];
    const controller = new AbortController();
    for (let round = 0; round < 10; round += 1) {
      await Promise.all(
        Array.from({ length: 5 }, () => exec({ command: ['true'], cwd: 'many' }, { signal: controller.signal })),
      );
    }
    expect(process.listenerCount('exit')).toBe(listeners);
    // Other code in this process may open one or two at the same time; fifty calls would leave fifty.
    expect(descriptors()).toBeLessThan(before + 10);
  });
});
