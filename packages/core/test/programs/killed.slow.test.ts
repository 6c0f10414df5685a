import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createHarness, fileStore, type Harness } from '#core/index.js';
import { unusedPath } from '@toolscript/testkit/folder';
import { tries } from '@toolscript/testkit/some-cases';

const PROGRAM = fileURLToPath(new URL('support/program-process.mjs', import.meta.url));
const KILLS = tries(30, 5);

/** The end of a script in another process. */
interface Reported {
  readonly value: number;
  readonly error?: string;
  readonly heap: string;
  /** True: the outcome says that the variables of the script are lost. */
  readonly isLost: boolean;
  /** True: they are lost, because all variables are as before the script. */
  readonly isRestored: boolean;
}

function openHarness(folder: string): Harness {
  const own = { scripts: 'one-program', suspensionKey: 'k'.repeat(32), typecheck: 'off' } as const;
  const harness = createHarness({ tools: [], store: fileStore(folder), ...own });
  onTestFinished(() => harness.close());
  return harness;
}

/** A program whose variable `n` is 0, in a new folder. */
async function begun() {
  const folder = unusedPath();
  const harness = openHarness(folder);
  // A busy machine may end the capture of a memory early: the script then leaves no heap.
  let heap: string | undefined;
  while (heap === undefined) ({ heap } = await harness.runScript('let n = 0;\nreturn n', { threadId: 'thr_1' }));
  const valueAt = async (at: string) => (await harness.runScript('return n', { heap: at, program: 'own' })).value;
  return { folder, heap, valueAt };
}

/** The output of a process until its end. `killAfter`: the process is killed so many ms after its first line. */
async function reported(
  folder: string,
  heap: string,
  count: number,
  by: number,
  killAfter?: number,
): Promise<Reported[]> {
  const parameters = [folder, heap, `${count}`, `${by}`];
  const child = fork(PROGRAM, parameters, { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  let said = '';
  child.stdout!.setEncoding('utf8').on('data', (text: string) => {
    if (said === '' && killAfter !== undefined) setTimeout(() => child.kill('SIGKILL'), killAfter);
    said += text;
  });
  await once(child, 'close');
  return said
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Reported);
}

describe('a program whose processes are killed', () => {
  it(`loses no variable without a word, over ${KILLS} kills, and every heap keeps its value`, async () => {
    const { folder, heap: start, valueAt } = await begun();
    let heap = start;
    let last = 0;
    const kept: Reported[] = [];
    for (let kill = 0; kill < KILLS; kill += 1) {
      const ends = await reported(folder, heap, 0, 1, Math.random() * 60);
      expect(ends.length).toBeGreaterThan(0);
      for (const [index, end] of ends.entries()) {
        expect(end.error).toBeUndefined();
        // Another process can have stored only the variables of its last script without an answer.
        if (end.isLost && !end.isRestored) expect(index).toBe(0);
        expect(end.value).toBe(last + 1);
        last = end.isRestored ? last : end.value;
        ({ heap } = end);
        if (!end.isLost) kept.push(end);
      }
    }
    for (const { heap: at, value } of kept.filter((_, index) => index % 7 === 0 || index > kept.length - 3))
      expect(await valueAt(at)).toBe(value);
  });

  it('is changed by one of two processes at a time, and the other one reports it', async () => {
    const { folder, heap, valueAt } = await begun();
    const both = await Promise.all([reported(folder, heap, 15, 1), reported(folder, heap, 15, 1_000)]);
    const kept = both.flatMap((ends) => ends.filter(({ isLost }) => !isLost));
    expect(both.flat().every(({ error }) => error === undefined)).toBe(true);
    expect(both.flat()).toHaveLength(30);
    const [ones, thousands] = both.map((ends) => ends.filter(({ isLost }) => !isLost).length);
    const values = await Promise.all(both.map((ends) => valueAt(ends.at(-1)!.heap)));
    expect(Math.max(...(values as number[]))).toBe(ones! + 1_000 * thousands!);
    expect(new Set(kept.map(({ value }) => value)).size).toBe(kept.length);
  });
});
