import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { finished, PROGRAM, said, start, temporaryFolder } from '../support/program.js';
import { Scene, script, text } from './scene.js';

const HERE = fileURLToPath(new URL('../..', import.meta.url));
const HELD = 'is open in another process';
const isLinux = process.platform === 'linux';

/** Opens the thread whenever it is told a moment to, and says `in` or why not; closes it when it is told `close`. */
const CONTENDER = `
import { ThreadWriter } from '#cli/threads/thread-file.js';
let writer;
process.on('message', ({ path, at }) => {
  if (path === undefined) {
    writer?.close();
    writer = undefined;
    return process.send('closed');
  }
  while (Date.now() < at);
  try {
    writer = new ThreadWriter(path);
    process.send('in');
  } catch (error) {
    process.send(error.message);
  }
});
process.send('ready');
`;

async function startContender(): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', CONTENDER], {
    cwd: HERE,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child, 'message');
  return child;
}

async function tell(children: readonly ChildProcess[], message: object): Promise<string[]> {
  const answers = children.map(nextAnswer);
  for (const child of children) child.send(message);
  return Promise.all(answers);
}

function nextAnswer(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    const settle = (answer: unknown) => {
      child.off('message', settle).off('close', settle);
      resolve(String(answer));
    };
    child.on('message', settle).on('close', settle);
  });
}

/** A scene with one conversation, and where its lock is. */
async function kept(): Promise<{ scene: Scene; file: string; lock: string }> {
  const scene = new Scene();
  await scene.chat('First', [text('Yes.')]);
  const [file = ''] = readdirSync(scene.kept('threads'));
  return { scene, file, lock: scene.kept('threads', `${file}.lock`) };
}

const goOn = (scene: Scene) => scene.chat('Second', [text('Yes.')], ['--continue']);

const waitingChat = (scene: Scene) => [
  process.execPath,
  PROGRAM,
  'Wait',
  '--continue',
  '--json',
  ...scene.model(script("console.log('begun'); await sleep(60000)")),
];

/** A chat that has the conversation open until it is killed. */
async function holding(scene: Scene): Promise<ReturnType<typeof start>> {
  const [command = '', ...args] = waitingChat(scene);
  const child = start(command, args, { env: scene.env, cwd: scene.workspace });
  onTestFinished(() => void child.kill('SIGKILL'));
  await said(child, '"type":"script_log"');
  return child;
}

/** What the lock says of a process that lives. */
async function lockOfHolder(): Promise<{ scene: Scene; lock: string; holder: Record<string, unknown> }> {
  const { scene, lock } = await kept();
  const child = await holding(scene);
  const holder = JSON.parse(readFileSync(lock, 'utf8')) as Record<string, unknown>;
  expect(holder['pid']).toBe(child.pid);
  return { scene, lock, holder };
}

describe('the lock of a conversation', () => {
  it('that a dead process left is taken over by exactly one of those that find it at once', async () => {
    const folder = temporaryFolder();
    const children = await Promise.all(Array.from({ length: 6 }, startContender));
    for (let round = 0; round < 150; round += 1) {
      const path = join(folder, `${round}.jsonl`);
      writeFileSync(path, '');
      writeFileSync(`${path}.lock`, '999999999');
      const answers = await tell(children, { path, at: Date.now() + 3 });
      const others = answers.filter((answer) => answer !== 'in');
      expect(others, answers.join('\n')).toHaveLength(children.length - 1);
      for (const answer of others) expect(answer).toContain(HELD);
      await tell(children, {});
      expect(readdirSync(folder).filter((name) => !name.endsWith('.jsonl'))).toEqual([]);
    }
  });

  it('is never seen empty: who finds none, of several, gets it alone', async () => {
    const folder = temporaryFolder();
    const children = await Promise.all(Array.from({ length: 6 }, startContender));
    for (let round = 0; round < 150; round += 1) {
      const path = join(folder, `${round}.jsonl`);
      writeFileSync(path, '');
      const answers = await tell(children, { path, at: Date.now() + 3 });
      expect(answers.filter((answer) => !answer.includes(HELD))).toEqual(['in']);
      await tell(children, {});
    }
  });

  it('is taken over also where a process died while it took it over', async () => {
    const { scene, file, lock } = await kept();
    for (const path of [lock, `${lock}.takeover`, `${lock}.takeover.takeover`]) writeFileSync(path, '999999999');
    expect(await goOn(scene)).toMatchObject({ status: 0, stderr: '' });
    expect(readdirSync(scene.kept('threads')).filter((name) => !name.endsWith('.takeover'))).toEqual([file]);
  });

  it.skipIf(!isLinux)('is free once its process was killed, though its parent has not asked for it', async () => {
    const { scene, lock } = await kept();
    const parent = start('sh', ['-c', '"$@" & exec sleep 600', 'sh', ...waitingChat(scene)], {
      env: scene.env,
      cwd: scene.workspace,
    });
    onTestFinished(() => void parent.kill('SIGKILL'));
    await said(parent, '"type":"script_log"');
    const { pid } = JSON.parse(readFileSync(lock, 'utf8')) as { pid: number };
    expect((await goOn(scene)).stderr).toContain(`${HELD} (${pid})`);
    process.kill(pid, 'SIGKILL');
    await expect.poll(() => readFileSync(`/proc/${pid}/stat`, 'latin1'), { timeout: 30_000 }).toContain(') Z ');
    expect(await goOn(scene)).toMatchObject({ status: 0, stderr: '' });
  });

  it.skipIf(!isLinux)(
    'is free where another process has the number by now, or the machine has started anew',
    async () => {
      const { scene, lock, holder } = await lockOfHolder();
      expect((await goOn(scene)).stderr).toContain(HELD);
      const { scene: other, lock: otherLock } = await kept();
      writeFileSync(otherLock, JSON.stringify(holder));
      expect((await goOn(other)).stderr).toContain(HELD);
      for (const changed of [{ start_time: '1' }, { boot_id: 'another' }]) {
        writeFileSync(otherLock, JSON.stringify({ ...holder, ...changed }));
        expect(await goOn(other)).toMatchObject({ status: 0, stderr: '' });
      }
      expect(existsSync(lock)).toBe(true);
    },
  );

  it.each(['', 'nonsense', '{"pid":"1"}', '0'])('that says %j, nobody holds', async (content) => {
    const { scene, lock } = await kept();
    writeFileSync(lock, content);
    expect(await goOn(scene)).toMatchObject({ status: 0, stderr: '' });
  });

  it.skipIf(process.platform === 'win32')('with the number of the very process that finds it is not held', async () => {
    const { scene, file, lock } = await kept();
    const model = scene.model(text('Yes.')).join(' ');
    const child = start(
      'sh',
      ['-c', `printf %s $$ > '${lock}'; exec '${process.execPath}' '${PROGRAM}' chat Second --continue ${model}`],
      { env: scene.env, cwd: scene.workspace },
    );
    expect(await finished(child)).toMatchObject({ status: 0, stderr: '' });
    expect(readdirSync(scene.kept('threads'))).toEqual([file]);
  });

  it('is let go of only by its own process', async () => {
    const folder = temporaryFolder();
    const path = join(folder, 'a.jsonl');
    writeFileSync(path, '');
    const child = await startContender();
    expect(await tell([child], { path, at: 0 })).toEqual(['in']);
    expect(await tell([child], { path, at: 0 })).toEqual([expect.stringContaining('is open in this process already')]);
    writeFileSync(`${path}.lock`, '1');
    await tell([child], {});
    expect(readFileSync(`${path}.lock`, 'utf8')).toBe('1');
  });

  it('may be gone when it is let go of', async () => {
    const folder = temporaryFolder();
    const path = join(folder, 'a.jsonl');
    writeFileSync(path, '');
    const child = await startContender();
    await tell([child], { path, at: 0 });
    unlinkSync(`${path}.lock`);
    expect(await tell([child], {})).toEqual(['closed']);
  });

  it('keeps a conversation from being forgotten while it is open', async () => {
    const { scene, file } = await kept();
    const child = await holding(scene);
    const id = file.replace('.jsonl', '');
    const refused = await scene.toolscript(['threads', '--delete', id]);
    expect(refused).toMatchObject({ status: 2, stdout: '' });
    expect(refused.stderr).toBe(`toolscript: This conversation ${HELD} (${child.pid}). End that one first.\n`);
    expect(readdirSync(scene.kept('threads'))).toContain(file);
    child.kill('SIGKILL');
    await once(child, 'close');
    expect((await scene.toolscript(['threads', '--delete', id])).status).toBe(0);
    expect(readdirSync(scene.kept('threads'))).toEqual([]);
  });

  it('leaves nothing where the conversation was forgotten before it could be opened', async () => {
    const folder = temporaryFolder();
    const child = await startContender();
    const path = join(folder, 'gone.jsonl');
    expect(await tell([child], { path, at: 0 })).toEqual([expect.stringContaining('cannot be gone on with (ENOENT)')]);
    expect(readdirSync(folder)).toEqual([]);
  });
});
