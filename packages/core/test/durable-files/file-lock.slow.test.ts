import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { withFileLock } from '#core/durable-files/index.js';
import { unusedPath } from '@toolscript/testkit/folder';

const PROGRAM = fileURLToPath(new URL('support/lock-process.mjs', import.meta.url));

function startProcess(...parameters: string[]) {
  const child = fork(PROGRAM, parameters, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

describe('a lock of a file', () => {
  it('serialises the changes of many processes, so that none is lost', async () => {
    const file = join(unusedPath(), 'inner', 'count');
    const children = Array.from({ length: 6 }, () => startProcess('count', file, '20'));
    const codes = await Promise.all(children.map(async (child) => (await once(child, 'close'))[0] as number));
    expect(codes).toEqual(children.map(() => 0));
    expect(readFileSync(file, 'utf8')).toBe('120');
    expect(readdirSync(join(file, '..'))).toEqual(['count']);
  });

  it('is not held by a killed process', async () => {
    const file = join(unusedPath(), 'count');
    const child = startProcess('hold', file);
    await once(child, 'message');
    expect(existsSync(`${file}.lock`)).toBe(true);
    const closed = once(child, 'close');
    child.kill('SIGKILL');
    await closed;
    expect(await withFileLock(file, async () => 'mine')).toBe('mine');
  });

  it('is broken after a while if it is unknown whether its holder is alive', async () => {
    const file = join(unusedPath(), 'count');
    mkdirSync(`${file}.lock`, { recursive: true });
    const holder = join(`${file}.lock`, 'holder');
    writeFileSync(holder, 'not an identity');
    utimesSync(holder, 1, 1);
    expect(await withFileLock(file, async () => 'mine')).toBe('mine');
  });

  it('is released if the work fails, and passes on its error', async () => {
    const file = join(unusedPath(), 'count');
    const failing = withFileLock(file, () => Promise.reject(new Error('full')));
    await expect(failing).rejects.toThrow('full');
    await expect.poll(() => existsSync(`${file}.lock`)).toBe(false);
  });
});
