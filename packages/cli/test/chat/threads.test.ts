import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { finished, PROGRAM, said, start, type Finished } from '../support/program.js';
import { Scene, script, text } from './scene.js';

interface Listed {
  threadId: string;
  title: string;
}

async function listed(scene: Scene): Promise<Listed[]> {
  return JSON.parse((await scene.toolscript(['threads', '--json'])).stdout) as Listed[];
}

const expecting = (answer: string, ...expected: string[]) => ({
  parts: [{ type: 'text' as const, text: answer }],
  expect: expected,
});

describe('a conversation', () => {
  it('is kept with its prompts and results, and goes on: the last one, or the one that is named', async () => {
    const scene = new Scene();
    await scene.chat('First question', [script('return 6 * 7'), text('It is 42.')]);
    await scene.chat('Another conversation', [text('Fine.')]);
    const [newest, oldest] = await listed(scene);
    expect([newest!.title, oldest!.title]).toEqual(['Another conversation', 'First question']);
    const named = await scene.chat(
      'And twice that?',
      [expecting('84.', 'First question', 'It is 42.', 'And twice that?')],
      ['--thread', oldest!.threadId.slice(0, 9)],
    );
    expect(named).toMatchObject({ status: 0, stderr: '' });
    const last = await scene.chat(
      'And that plus one?',
      [expecting('85.', '84.', 'And that plus one?')],
      ['--continue'],
    );
    expect(last).toMatchObject({ status: 0, stderr: '' });
    expect((await listed(scene)).map(({ title }) => title)).toEqual(['First question', 'Another conversation']);
  });

  it('tells the model at the beginning what it told it then, and once what has changed since', async () => {
    const scene = new Scene();
    const system = (name: string) => ({ ...expecting('Yes.', name) });
    await scene.chat('First', [text('Yes.')], ['--tools', 'readFile,listDir']);
    const changed = await scene.chat(
      'Second',
      [system('the tools or the instructions have changed')],
      ['--continue', '--tools', 'readFile'],
    );
    expect(changed).toMatchObject({ status: 0, stderr: '' });
    const again = await scene.chat('Third', [text('Yes.')], ['--continue', '--tools', 'readFile']);
    expect(again).toMatchObject({ status: 0, stderr: '' });
    const [file] = readdirSync(scene.kept('threads'));
    const lines = readFileSync(scene.kept('threads', file!), 'utf8').trimEnd().split('\n');
    const announced = lines.filter((line) => line.includes('have changed') && line.includes('"response_start"'));
    expect(announced).toHaveLength(1);
  });

  it('is the person’s own: nobody else may read it', async () => {
    const scene = new Scene();
    await scene.chat('Secret', [text('Yes.')]);
    const [file] = readdirSync(scene.kept('threads'));
    expect(statSync(scene.kept('threads', file!)).mode & 0o077).toBe(0);
    expect(statSync(scene.kept('threads')).mode & 0o077).toBe(0);
  });

  it('of another workspace is not gone on with in this one', async () => {
    const scene = new Scene();
    await scene.chat('Here', [text('Yes.')]);
    const [{ threadId } = { threadId: '' }] = await listed(scene);
    const elsewhere = join(scene.base, 'elsewhere');
    mkdirSync(elsewhere);
    const other = await scene.toolscript(['x', '--thread', threadId, '--cwd', elsewhere, ...scene.model(text('No.'))]);
    expect(other.status).toBe(2);
    expect(other.stderr).toContain('is a conversation about');
  });

  it('goes on after its process was killed while a script ran: what was cut off is told as such', async () => {
    const scene = new Scene();
    const child = start(
      process.execPath,
      [PROGRAM, 'Wait', ...scene.model(script("console.log('begun'); await sleep(60000)")), '--json'],
      { env: scene.env, cwd: scene.workspace },
    );
    await said(child, '"type":"script_log"');
    child.kill('SIGKILL');
    await new Promise((resolve) => child.once('close', resolve));
    const { status, stderr } = await scene.chat(
      'What now?',
      [expecting('I look.', 'ended while this script ran', 'What now?')],
      ['--continue'],
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });

  it('goes on where its last line was cut off, and not where it was damaged', async () => {
    const scene = new Scene();
    await scene.chat('First', [text('Yes.')]);
    const [file] = readdirSync(scene.kept('threads'));
    const path = scene.kept('threads', file!);
    const whole = readFileSync(path, 'utf8');
    appendFileSync(path, '{"event_id":"evt_');
    const cut = await scene.chat('Second', [expecting('Yes.', 'First')], ['--continue']);
    expect(cut).toMatchObject({ status: 0, stderr: '' });
    expect((await scene.chat('Third', [expecting('Yes.', 'Second')], ['--continue'])).status).toBe(0);
    writeFileSync(path, whole.replace('"seq":0', '"seq":'));
    const damaged = await scene.chat('Fourth', [text('Yes.')], ['--continue']);
    expect(damaged.status).toBe(2);
    expect(damaged.stderr).toContain('is damaged at line');
  });

  it('is open in one process at a time; one that died holds nothing', async () => {
    const scene = new Scene();
    await scene.chat('First', [text('Yes.')]);
    const [file] = readdirSync(scene.kept('threads'));
    const lock = scene.kept('threads', `${file!}.lock`);
    writeFileSync(lock, String(process.pid));
    const held = await scene.chat('Second', [text('Yes.')], ['--continue']);
    expect(held.status).toBe(2);
    expect(held.stderr).toContain('is open in another process');
    writeFileSync(lock, '999999999');
    expect((await scene.chat('Second', [text('Yes.')], ['--continue'])).status).toBe(0);
    expect(readdirSync(scene.kept('threads'))).toEqual([file]);
  });

  it('can be forgotten', async () => {
    const scene = new Scene();
    await scene.chat('First', [text('Yes.')]);
    const [{ threadId } = { threadId: '' }] = await listed(scene);
    expect((await scene.toolscript(['threads', '--delete', threadId])).stdout).toContain('is forgotten');
    expect(await listed(scene)).toEqual([]);
  });
});

const isPosix = process.platform !== 'win32';
const isRoot = process.getuid?.() === 0;

/** One sentence that names the path and the system's code. */
function expectRefusal({ status, stdout, stderr }: Finished, path: string, code: string): void {
  expect({ status, stdout, lines: stderr.split('\n').length }, stderr).toEqual({ status: 2, stdout: '', lines: 2 });
  expect(stderr).toMatch(/^toolscript: .*\.\n$/u);
  expect(stderr).toContain(path);
  expect(stderr).toContain(`(${code})`);
}

/** A scene with one conversation, and where it is kept. */
async function withConversation(): Promise<{ scene: Scene; id: string; path: string }> {
  const scene = new Scene();
  await scene.chat('First', [text('Yes.')]);
  const [{ threadId: id } = { threadId: '' }] = await listed(scene);
  return { scene, id, path: scene.kept('threads', `${id}.jsonl`) };
}

describe('what the system refuses', () => {
  it('is one sentence where the folder of conversations is a file', async () => {
    const scene = new Scene();
    const folder = scene.kept('threads');
    mkdirSync(scene.kept(), { recursive: true });
    writeFileSync(folder, '');
    expectRefusal(await scene.toolscript(['threads']), folder, 'ENOTDIR');
    expectRefusal(await scene.toolscript(['threads', '--delete', 'thr_a']), folder, 'ENOTDIR');
    expectRefusal(await scene.chat('First', [text('Yes.')]), folder, 'EEXIST');
  });

  it.skipIf(!existsSync('/proc/self'))('is one sentence where nobody can write to the folder', async () => {
    const scene = new Scene();
    mkdirSync(scene.kept(), { recursive: true });
    symlinkSync('/proc/self', scene.kept('threads'));
    expectRefusal(await scene.chat('First', [text('Yes.')]), scene.kept('threads'), 'ENOENT');
  });

  it.skipIf(!isPosix)('is one sentence where the lock cannot be written', async () => {
    const { scene, path } = await withConversation();
    // The lock's name is longer than a name may be.
    const long = scene.kept('threads', `${'x'.repeat(245)}.jsonl`);
    renameSync(path, long);
    expectRefusal(await scene.chat('Second', [text('Yes.')], ['--continue']), long, 'ENAMETOOLONG');
    expectRefusal(await scene.toolscript(['threads', '--delete', 'thr_']), long, 'ENAMETOOLONG');
  });

  it('is one sentence where a conversation cannot be read', async () => {
    const { scene, path } = await withConversation();
    const folder = scene.kept('threads', 'thr_folder.jsonl');
    mkdirSync(folder);
    expectRefusal(await scene.chat('x', [text('Yes.')], ['--thread', 'thr_folder']), folder, 'EISDIR');
    expect(await scene.chat('Second', [text('Yes.')], ['--continue'])).toMatchObject({ status: 0, stderr: '' });
    expect(existsSync(path)).toBe(true);
  });

  // Root may do it all the same.
  it.skipIf(!isPosix || isRoot)('is one sentence where the person has taken the right away', async () => {
    const { scene, id, path } = await withConversation();
    const folder = scene.kept('threads');
    chmodSync(folder, 0o500);
    try {
      expectRefusal(await scene.chat('Second', [text('Yes.')], ['--continue']), path, 'EACCES');
      expectRefusal(await scene.toolscript(['threads', '--delete', id]), path, 'EACCES');
      chmodSync(path, 0);
      expectRefusal(await scene.chat('Second', [text('Yes.')], ['--thread', id]), path, 'EACCES');
    } finally {
      chmodSync(folder, 0o700);
    }
  });

  it.skipIf(!isPosix)('in the middle of a run ends the keeping with one warning, and not the run', async () => {
    const { scene, path } = await withConversation();
    const long = 'x'.repeat(200_000);
    await scene.chat(long.slice(0, 100_000), [text(long)], ['--continue']);
    const before = statSync(path).size;
    // No file may grow beyond this many blocks; the conversation has passed it.
    const limited = start(
      'sh',
      [
        '-c',
        'ulimit -f 400 && exec "$@"',
        'sh',
        process.execPath,
        PROGRAM,
        'chat',
        'Third',
        '--continue',
        ...scene.model(script('return 6 * 7'), expecting('It is 42.', '42')),
      ],
      { env: scene.env, cwd: scene.workspace },
    );
    const { status, stdout, stderr } = await finished(limited);
    expect({ status, lines: stderr.split('\n').length }, stderr).toEqual({ status: 0, lines: 2 });
    expect(stdout).toContain('It is 42.');
    expect(stderr).toContain(`${path} cannot be written (EFBIG): what is said from here on is not kept.`);
    expect(statSync(path).size).toBe(before);
    const { status: after } = await scene.chat('Fourth', [expecting('Fine.', 'Fourth')], ['--continue']);
    expect(after).toBe(0);
  });
});

describe.skipIf(!isPosix)('a reader of stdout that went away', () => {
  it.each(['threads', 'threads --json', 'approvals', 'tools', 'help'])('ends %s quietly', async (command) => {
    const { scene } = await withConversation();
    const { stdout, stderr } = await scene.shell(`(toolscript ${command}; echo "status $?" >&2) | true`);
    expect({ stdout, stderr }).toEqual({ stdout: '', stderr: 'status 141\n' });
  });

  it('does not hide that the command was wrong', async () => {
    // A pipe of the shell's would take what nobody reads; a socket that was closed does not.
    const start = `const { spawn } = require('node:child_process');
      const child = spawn('toolscript', ['threads', '--nope'], { stdio: ['ignore', 'pipe', 'ignore'] });
      child.stdout.destroy();
      child.on('close', (status) => console.log('status', status));`;
    const { stdout } = await new Scene().shell(`"${process.execPath}" -e "${start.replaceAll('\n', ' ')}"`);
    expect(stdout).toBe('status 2\n');
  });

  it('is no full disk: that is said', async ({ skip }) => {
    skip(!existsSync('/dev/full'), 'there is no /dev/full here');
    const { stderr } = await new Scene().shell('toolscript threads > /dev/full; echo "status $?" >&2');
    expect(stderr).toBe('toolscript: stdout cannot be written (ENOSPC).\nstatus 1\n');
  });
});
