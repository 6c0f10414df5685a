import { execFile, fork } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { ownIdentity } from '@toolscript/core/internal';
import { describe, expect, it } from 'vitest';
import { sha256 } from '#tools/files/content-hash.js';
import { createWorkspace } from '#tools/files/workspace.js';
import { writeFile } from '#tools/files/write-file.js';
import { texts } from '../support/temporary-folder.js';
import { newFolder } from '@toolscript/testkit/folder';

const run = promisify(execFile);
const program = (name: string): string => fileURLToPath(new URL(`../support/${name}.mjs`, import.meta.url));

async function editors(root: string, processes: number, count: number, turns: number): Promise<string[]> {
  const stateFolder = newFolder();
  const outputs = await Promise.all(
    Array.from({ length: processes }, (_, at) =>
      run(process.execPath, [program('editor'), root, stateFolder, `p${at}`, `${count}`, `${turns}`]),
    ),
  );
  return outputs.flatMap(({ stdout }) => JSON.parse(stdout) as string[]);
}

describe('an update of a file', () => {
  it.each([
    ['three processes', 3, 60, 1],
    ['four workspaces of one process', 1, 50, 4],
    ['two processes with two workspaces each', 2, 40, 2],
  ])('is neither lost nor rejected if %s change it at once', async (_, processes, count, turns) => {
    const root = newFolder({ 'list.txt': '' });
    const done = await editors(root, processes, count, turns);
    const lines = readFileSync(join(root, 'list.txt'), 'utf8').split('\n').filter(Boolean);
    expect(lines.toSorted()).toEqual(done.toSorted());
    expect(done).toHaveLength(processes * count * turns);
    expect(readdirSync(root)).toEqual(['list.txt']);
  });
});

const FILES = 50;

describe('a patch of many files whose process is killed', () => {
  it('leaves all files old or all new, and no other file, after the next change', async () => {
    const root = newFolder();
    const stateFolder = newFolder();
    let mixtures = 0;
    for (let trial = 0; trial < 12; trial += 1) {
      for (let at = 0; at < FILES; at += 1) writeFileSync(join(root, `f${at}`), 'old\n');
      rmSync(join(root, 'made'), { recursive: true, force: true });
      // Every other process dies when it has switched some of the files; the others die anywhere.
      const lastRename = trial % 2 === 0 ? FILES / 2 + trial : 0;
      const patcher = fork(program('patcher'), [root, stateFolder, `${FILES}`, `${lastRename}`]);
      const ended = new Promise((resolve) => patcher.once('exit', resolve));
      if (lastRename === 0) {
        // In the middle of a change: the folder has temporary files, some milliseconds old.
        while (!readdirSync(root).some((name) => name.startsWith('.toolscript'))) await sleep(1);
        await sleep(Math.random() * 60);
        patcher.kill('SIGKILL');
      }
      await ended;
      if (new Set(Object.values(texts(root))).size > 1) mixtures += 1;

      const workspace = createWorkspace({ roots: root, stateFolder });
      await writeFile(workspace, { path: 'next', content: 'x\n' });
      const after = texts(root);
      const contents = new Set(Array.from({ length: FILES }, (_, at) => after[`f${at}`]));
      expect([...contents]).toHaveLength(1);
      expect(after['made/deep/x']).toBe(contents.has('new\n') ? 'x\n' : undefined);
      expect(Object.keys(after).filter((name) => name.includes('.toolscript'))).toEqual([]);
      expect(readdirSync(join(stateFolder, 'journals'))).toEqual([]);
      rmSync(join(root, 'next'));
    }
    // Otherwise nothing was restored here.
    expect(mixtures).toBeGreaterThanOrEqual(6);
  });
});

describe('a journal in the state folder', () => {
  const forged = (root: string, change: object): string =>
    JSON.stringify({
      owner: JSON.stringify({ pid: 1, hostname: 'elsewhere' }),
      entries: [
        {
          realPath: join(root, 'a'),
          kept: '.toolscript-AAAAAAAAAAAA.old',
          sha256: sha256(Buffer.from('a')),
          existing: { dev: '0', ino: '0' },
          ...change,
        },
      ],
      missingFolders: [],
    });

  async function recoverFrom(journal: (root: string, outside: string) => string): Promise<Record<string, string>> {
    const parent = newFolder({
      'inside/a': 'a',
      'outside/b': 'b',
      'inside/.toolscript-AAAAAAAAAAAA.old': 'planted',
    });
    const stateFolder = join(parent, 'state');
    mkdirSync(join(stateFolder, 'journals'), { recursive: true, mode: 0o700 });
    const path = join(stateFolder, 'journals', 'x.open');
    writeFileSync(path, journal(join(parent, 'inside'), join(parent, 'outside')));
    const { utimesSync } = await import('node:fs');
    utimesSync(path, 0, 0);
    await writeFile(createWorkspace({ roots: join(parent, 'inside'), stateFolder }), {
      path: 'next',
      content: 'x',
    });
    return texts(parent);
  }

  it('restores no file that it did not record', async () => {
    const after = await recoverFrom((root) => forged(root, {}));
    expect(after['inside/a']).toBe('a');
  });

  it('is not touched while its process is alive, and completed afterwards', async () => {
    const journalBy = (owner: object) => (root: string) => {
      const { dev, ino } = statSync(join(root, '.toolscript-AAAAAAAAAAAA.old'), { bigint: true });
      const journal = JSON.parse(forged(root, { existing: { dev: `${dev}`, ino: `${ino}` } })) as object;
      return JSON.stringify({ ...journal, owner: JSON.stringify(owner) });
    };
    const own = ownIdentity();
    expect((await recoverFrom(journalBy(own)))['inside/a']).toBe('a');
    expect((await recoverFrom(journalBy({ ...own, instance: 'another', startTime: 'another time' })))['inside/a']).toBe(
      'planted',
    );
  });

  it('stays until its own workspace is used again', async () => {
    const after = await recoverFrom((_, folder) => forged(folder, { realPath: join(folder, 'b') }));
    expect(Object.keys(after)).toContain('state/journals/x.open');
  });

  it('deletes no file that is not the record of a change', async () => {
    const after = await recoverFrom((root, folder) => {
      for (const ending of ['new', 'open', 'done']) writeFileSync(join(folder, `record.${ending}`), 'mine');
      return JSON.stringify({ ...(JSON.parse(forged(root, {})) as object), record: join(folder, 'record') });
    });
    for (const ending of ['new', 'open', 'done']) expect(after[`outside/record.${ending}`]).toBe('mine');
    expect(Object.keys(after)).not.toContain('state/journals/x.open');
  });

  it('changes nothing outside the workspace', async () => {
    const outside = { realPath: '' };
    const after = await recoverFrom((_, folder) => {
      outside.realPath = join(folder, 'b');
      writeFileSync(join(folder, '.toolscript-AAAAAAAAAAAA.old'), 'planted');
      return forged(folder, outside);
    });
    expect(after['outside/b']).toBe('b');
    expect(after['outside/.toolscript-AAAAAAAAAAAA.old']).toBe('planted');
  });

  it('deletes only temporary files', async () => {
    const after = await recoverFrom((root) => forged(root, { kept: '../outside/b', staged: 'a' }));
    expect(after['inside/a']).toBe('a');
    expect(after['outside/b']).toBe('b');
  });
});
