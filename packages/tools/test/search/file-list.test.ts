import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createWorkspace, type Workspace } from '#tools/files/workspace.js';
import { writeFile } from '#tools/files/write-file.js';
import { byFolder, FileLists } from '#tools/search/file-list.js';
import { fileSearch } from '#tools/search/file-search.js';
import { inScope } from '#tools/search/search-scope.js';
import { newFolder, put } from '@toolscript/testkit/folder';

/** Resolves when all changes in the folder are older than the clock of the file system can distinguish. */
const SETTLED_MS = 80;

interface Remembered {
  readonly folder: string;
  readonly workspace: Workspace;
  readonly find: (pattern?: string, path?: string) => Promise<string[]>;
  readonly list: () => Promise<unknown>;
}

async function remembered(files: Record<string, string>): Promise<Remembered> {
  const folder = newFolder(files);
  const workspace = createWorkspace({ roots: folder });
  const lists = new FileLists(workspace);
  await sleep(SETTLED_MS);
  const find = async (pattern = '**', path = '.'): Promise<string[]> =>
    (await fileSearch(workspace, { pattern, path, limit: 2000 }, undefined, lists)).files.map(({ path }) => path);
  const list = () =>
    inScope(workspace, { path: '.', folderOnly: true }, (scope, cwd) => lists.of(scope, cwd, undefined));
  await find();
  return { folder, workspace, find, list };
}

const START = { '.gitignore': '*.log\n', 'a.ts': '', 'sub/b.ts': '', 'sub/deep/c.ts': '', 'logs/x.log': '' };

describe('a remembered list of files', () => {
  it('is the same list while nothing changes', async () => {
    const { list } = await remembered(START);
    expect(await list()).toBe(await list());
  });

  it('is not reused if something changed while it was created', async () => {
    const { folder, list } = await remembered(START);
    put(folder, 'young.ts', '');
    expect(await list()).not.toBe(await list());
  });

  it.each<[string, (folder: string) => void, string[]]>([
    ['a new file', (folder) => put(folder, 'sub/new.ts', ''), ['a.ts', 'sub/b.ts', 'sub/deep/c.ts', 'sub/new.ts']],
    ['a removed file', (folder) => rmSync(join(folder, 'sub/deep/c.ts')), ['a.ts', 'sub/b.ts']],
    [
      'a renamed file',
      (folder) => renameSync(join(folder, 'sub/b.ts'), join(folder, 'sub/z.ts')),
      ['a.ts', 'sub/deep/c.ts', 'sub/z.ts'],
    ],
    [
      'a renamed folder',
      (folder) => renameSync(join(folder, 'sub/deep'), join(folder, 'sub/other')),
      ['a.ts', 'sub/b.ts', 'sub/other/c.ts'],
    ],
    [
      'a file in a folder where all were ignored',
      (folder) => put(folder, 'logs/y.ts', ''),
      ['a.ts', 'logs/y.ts', 'sub/b.ts', 'sub/deep/c.ts'],
    ],
    ['new folders', (folder) => put(folder, 'new/er/y.ts', ''), ['a.ts', 'new/er/y.ts', 'sub/b.ts', 'sub/deep/c.ts']],
    ['changed ignore rules', (folder) => writeFileSync(join(folder, '.gitignore'), 'sub\n'), ['a.ts', 'logs/x.log']],
    ['new ignore rules', (folder) => put(folder, 'sub/.ignore', 'deep\n'), ['a.ts', 'sub/b.ts']],
    ['rules that only git knows', (folder) => put(folder, '.git/info/exclude', 'sub/deep\n'), ['a.ts', 'sub/b.ts']],
    [
      'a folder that became a link',
      (folder) => {
        rmSync(join(folder, 'sub/deep'), { recursive: true });
        symlinkSync('..', join(folder, 'sub/deep'));
      },
      ['a.ts', 'sub/b.ts'],
    ],
  ])('is made again after %s', async (_, change, expected) => {
    const { folder, find } = await remembered(START);
    change(folder);
    expect(await find()).toEqual(expected);
  });

  it('is created again after a file was created deep in empty folders', async () => {
    const folder = newFolder(START);
    mkdirSync(join(folder, 'empty/er/est'), { recursive: true });
    const lists = new FileLists(createWorkspace({ roots: folder }));
    const workspace = createWorkspace({ roots: folder });
    await sleep(SETTLED_MS);
    const find = () => fileSearch(workspace, { pattern: '*.txt' }, undefined, lists);
    expect((await find()).files).toEqual([]);
    put(folder, 'empty/er/est/x.txt', '');
    expect((await find()).files.map(({ path }) => path)).toEqual(['empty/er/est/x.txt']);
  });

  it('is created again after a write by a tool of the same workspace', async () => {
    const { workspace, find, list } = await remembered(START);
    const before = await list();
    await writeFile(workspace, { path: 'sub/written.ts', content: '' });
    expect(await find('written')).toEqual(['sub/written.ts']);
    expect(await list()).not.toBe(before);
  });

  it('applies the ignore files of parent folders', async () => {
    const { folder, find } = await remembered(START);
    expect(await find('*', 'sub')).toEqual(['sub/b.ts', 'sub/deep/c.ts']);
    await sleep(SETTLED_MS);
    expect(await find('*', 'sub')).toEqual(['sub/b.ts', 'sub/deep/c.ts']);
    writeFileSync(join(folder, '.gitignore'), 'deep\n');
    expect(await find('*', 'sub')).toEqual(['sub/b.ts']);
  });
});

it('paths are sorted name by name', () => {
  const name = fc.stringMatching(/^[a-c!.\-0]{1,3}$/);
  const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join('/'));
  const byNames = (one: string, other: string): number => {
    const [names, others] = [one.split('/'), other.split('/')];
    for (const [index, part] of names.entries()) {
      if (index >= others.length) return 1;
      if (part !== others[index]) return part < others[index]! ? -1 : 1;
    }
    return names.length - others.length;
  };
  fc.assert(
    fc.property(path, path, (one, other) => {
      expect(Math.sign(byFolder(one, other))).toBe(Math.sign(byNames(one, other)));
    }),
  );
});
