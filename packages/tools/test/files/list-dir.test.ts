import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { listDir } from '#tools/files/list-dir.js';
import { createWorkspace } from '#tools/files/workspace.js';
import { refusal } from '../support/temporary-folder.js';
import { newFolder } from '@toolscript/testkit/folder';

it('shows a tree, sorted, with marks for folders, links and other things', async () => {
  const folder = newFolder({ 'b.txt': '', 'a/deep/er/x.txt': '', 'a/y.txt': '', 'B.txt': '', '.hidden': '' });
  symlinkSync('a', join(folder, 'link'));
  execFileSync('mkfifo', [join(folder, 'pipe')]);
  const result = await listDir(createWorkspace({ roots: folder }));
  expect(result.content).toBe(
    ['./', '  .hidden', '  B.txt', '  a/', '    deep/', '    y.txt', '  b.txt', '  link@', '  pipe?'].join('\n'),
  );
  expect(result.entries[2]).toEqual({ path: 'a', name: 'a', type: 'directory', depth: 1 });
  expect(result.entries[3]).toEqual({ path: 'a/deep', name: 'deep', type: 'directory', depth: 2 });
  expect(result.entries.map(({ type }) => type)).toEqual([
    'file',
    'file',
    'directory',
    'directory',
    'file',
    'file',
    'symlink',
    'other',
  ]);
  expect(result).toMatchObject({ success: true, path: '.', truncated: false });
});

it('pages through entries and reports the next offset', async () => {
  const folder = newFolder(
    Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`f${String(index).padStart(2, '0')}`, ''])),
  );
  const workspace = createWorkspace({ roots: folder });
  const first = await listDir(workspace, {});
  expect(first.entries).toHaveLength(25);
  expect(first.truncated).toBe(true);
  expect(first.content).toMatch(/more entries; continue with offset 26$/);
  const second = await listDir(workspace, { offset: 26 });
  expect(second.entries.map(({ name }) => name)).toEqual(['f25', 'f26', 'f27', 'f28', 'f29']);
  expect(second.truncated).toBe(false);
  expect((await refusal(() => listDir(workspace, { offset: 31 }))).message).toContain('30 entries');
});

it('descends the requested number of levels, and marks an empty folder', async () => {
  const folder = newFolder({ 'a/b/c/d.txt': '' });
  mkdirSync(join(folder, 'none'));
  const workspace = createWorkspace({ roots: folder });
  expect((await listDir(workspace, { depth: 1 })).entries.map(({ path }) => path)).toEqual(['a', 'none']);
  expect((await listDir(workspace, { depth: 9 })).entries.map(({ path }) => path)).toEqual([
    'a',
    'a/b',
    'a/b/c',
    'a/b/c/d.txt',
    'none',
  ]);
  expect((await listDir(workspace, { path: 'none' })).content).toBe('none/\n  (empty)');
  expect((await listDir(workspace, { path: 'b', cwd: 'a' })).entries[0]).toMatchObject({ path: 'a/b/c' });
});

it('shows names with line ends and control characters on one line', async () => {
  const folder = newFolder({ 'a\nb\u001b[2J': '' });
  const result = await listDir(createWorkspace({ roots: folder }));
  expect(result.content).toBe('./\n  a\\u000ab\\u001b[2J');
  expect(result.entries[0]!.name).toBe('a\nb\u001b[2J');
});

it('marks a folder that cannot be read and continues', async () => {
  const folder = newFolder({ 'open/x': '', 'locked/y': '' });
  chmodSync(join(folder, 'locked'), 0o000);
  chmodSync(folder, 0o755);
  // Root may read everything, so another user has to list.
  const script = `
    const { listDir } = await import(${JSON.stringify(fileURLToPath(import.meta.resolve('#tools/files/list-dir.js')))});
    const { createWorkspace } = await import(${JSON.stringify(fileURLToPath(import.meta.resolve('#tools/files/workspace.js')))});
    if (process.getuid() === 0) process.setuid(65534);
    console.log(JSON.stringify(await listDir(createWorkspace({ roots: ${JSON.stringify(folder)} }))));`;
  const run = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
  chmodSync(join(folder, 'locked'), 0o700);
  expect(run.stderr).toBe('');
  const result = JSON.parse(run.stdout) as Awaited<ReturnType<typeof listDir>>;
  expect(result.content).toBe('./\n  locked/ (cannot be read)\n  open/\n    x');
  expect(result.entries[0]).toMatchObject({ name: 'locked', unreadable: true });
});

it('shows a folder that git ignores as one line, unless it is the folder to list, and runs no monitor', async () => {
  const folder = newFolder({ '.gitignore': 'out\n', 'out/a/x.txt': '', 'src/out/y.txt': '', 'src/z.txt': '' });
  const mark = join(newFolder(), 'mark');
  execFileSync('git', ['init', '-q'], { cwd: folder });
  execFileSync('git', ['config', 'core.fsmonitor', `touch ${mark}; true`], { cwd: folder });
  const workspace = createWorkspace({ roots: folder });
  const paths = (await listDir(workspace, { depth: 9, limit: 2000 })).entries.map(({ path }) => path);
  expect(paths.filter((path) => !path.startsWith('.git'))).toEqual(['out', 'src', 'src/out', 'src/z.txt']);
  expect((await listDir(workspace, { depth: 9, limit: 2000 })).content).toContain('  out/ (ignored by git)\n  src/\n');
  expect((await listDir(workspace, { path: 'out', depth: 9 })).entries.map(({ path }) => path)).toEqual([
    'out/a',
    'out/a/x.txt',
  ]);
  expect(existsSync(mark)).toBe(false);
});
