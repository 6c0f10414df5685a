import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { ToolscriptUsageError } from '@toolscript/core/protocol';
import { beforeAll, describe, expect, it } from 'vitest';
import { listDir, listDirTool } from '#tools/files/list-dir.js';
import { readFile } from '#tools/files/read-file.js';
import { createWorkspace, type Verification, type Workspace } from '#tools/files/workspace.js';
import { writeFile } from '#tools/files/write-file.js';
import { fileSearch } from '#tools/search/file-search.js';
import { grepFiles, grepFilesTool } from '#tools/search/grep-files.js';
import { refusal, snapshot } from '../support/temporary-folder.js';
import { newFolder } from '@toolscript/testkit/folder';

const SECRET = 'the secret of another folder';

/** A workspace next to a folder with a secret, with every trick of a path that needs a file system. */
async function hostileFolders(): Promise<{ inside: string; outside: string; close: () => void }> {
  const parent = newFolder({
    'outside/secret.txt': SECRET,
    'inside/own.txt': 'own\n',
    'inside/sub/deep.txt': 'deep\n',
  });
  const inside = join(parent, 'inside');
  const outside = join(parent, 'outside');
  symlinkSync('../outside', join(inside, 'folder-out'));
  symlinkSync('../outside/secret.txt', join(inside, 'file-out'));
  symlinkSync(join(outside, 'secret.txt'), join(inside, 'absolute-out'));
  symlinkSync('file-out', join(inside, 'chain-out'));
  symlinkSync('../outside/new.txt', join(inside, 'dangling-out'));
  symlinkSync('nowhere', join(inside, 'dangling-in'));
  symlinkSync('own.txt', join(inside, 'file-in'));
  symlinkSync('sub', join(inside, 'folder-in'));
  symlinkSync('circle-b', join(inside, 'circle-a'));
  symlinkSync('circle-a', join(inside, 'circle-b'));
  symlinkSync('/dev/zero', join(inside, 'device'));
  symlinkSync('/dev/tty', join(inside, 'terminal'));
  symlinkSync('/proc/self/environ', join(inside, 'environ'));
  symlinkSync('/proc/self/root', join(inside, 'process-root'));
  symlinkSync('/proc/self/cwd', join(inside, 'process-cwd'));
  linkSync(join(outside, 'secret.txt'), join(inside, 'hard-link'));
  execFileSync('mkfifo', [join(inside, 'fifo')]);
  mkdirSync(join(inside, '.git', 'hooks'), { recursive: true });
  symlinkSync('.git/hooks', join(inside, 'hooks-link'));
  const server = createServer().listen(join(inside, 'socket'));
  await new Promise((resolve) => server.once('listening', resolve));
  return { inside, outside, close: () => server.close() };
}

const verifications: Verification[] = process.platform === 'linux' ? ['descriptor', 'path'] : ['path'];

describe.each(verifications)('with verification by %s', (verification) => {
  let inside: string;
  let outside: string;
  let workspace: Workspace;

  beforeAll(async () => {
    const folders = await hostileFolders();
    ({ inside, outside } = folders);
    workspace = createWorkspace({ roots: inside, verification });
    return folders.close;
  });

  describe('reading is rejected, with one sentence and no host path, for', () => {
    it.each<[string, () => string, string]>([
      ['a path above the root', () => '../outside/secret.txt', 'outside'],
      ['a deeper way above the root', () => 'sub/../../outside/secret.txt', 'outside'],
      ['many steps up', () => '../'.repeat(64) + 'etc/passwd', 'outside'],
      ['an absolute path', () => '/etc/passwd', 'outside'],
      ['an absolute path beside the root', () => join(outside, 'secret.txt'), 'outside'],
      ['a folder whose name begins like the root', () => `${inside}-x/y`, 'outside'],
      ['/proc', () => '/proc/self/environ', 'outside'],
      ['a NUL byte', () => 'own.txt\0.png', 'bad_path'],
      ['an empty path', () => '', 'bad_path'],
      ['a long name', () => 'n'.repeat(300), 'bad_path'],
      ['a long path', () => 'd/'.repeat(3000), 'bad_path'],
      ['a link to a file outside', () => 'file-out', 'link_outside'],
      ['an absolute link', () => 'absolute-out', 'link_outside'],
      ['a chain of links', () => 'chain-out', 'link_outside'],
      ['a path through a linked folder', () => 'folder-out/secret.txt', 'link_outside'],
      ['a missing file behind a link', () => 'folder-out/not-there', 'link_outside'],
      ['a link into /proc', () => 'environ', 'link_outside'],
      ['the root of the process', () => 'process-root/etc/passwd', 'link_outside'],
      ['a link to a device', () => 'device', 'link_outside'],
      ['a link to the terminal', () => 'terminal', 'link_outside'],
      ['a hard link', () => 'hard-link', 'hard_link'],
      ['a named pipe', () => 'fifo', 'not_a_file'],
      ['a folder', () => 'sub', 'not_a_file'],
      ['the root itself', () => '.', 'not_a_file'],
      ['a missing file', () => 'none.txt', 'missing'],
      ['a link that leads nowhere', () => 'dangling-in', 'missing'],
      ['a file used as a folder', () => 'own.txt/x', 'not_a_folder'],
      ['links in a circle', () => 'circle-a', 'io'],
    ])('%s', async (_, path, reason) => {
      const error = await refusal(() => readFile(workspace, { path: path() }));
      expect(error.data['reason']).toBe(reason);
      expect(error.message).not.toContain(SECRET);
      expect(error.message.replaceAll(path(), '')).not.toContain(inside);
      expect(error.message.replaceAll(path(), '')).not.toContain(outside);
      expect(error.message).toMatch(/^.{5,300}\.$/s);
    });

    it('a socket', async () => {
      const error = await refusal(() => readFile(workspace, { path: 'socket' }));
      expect(['not_a_file', 'io']).toContain(error.data['reason']);
    });

    it('a start folder outside', async () => {
      expect((await refusal(() => readFile(workspace, { path: 'secret.txt', cwd: '../outside' }))).data['reason']).toBe(
        'outside',
      );
      expect((await refusal(() => readFile(workspace, { path: 'secret.txt', cwd: 'folder-out' }))).data['reason']).toBe(
        'link_outside',
      );
    });

    it('listing a folder through a link', async () => {
      expect((await refusal(() => listDir(workspace, { path: 'folder-out' }))).data['reason']).toBe('link_outside');
      expect((await refusal(() => listDir(workspace, { path: '..' }))).data['reason']).toBe('outside');
      expect((await refusal(() => listDir(workspace, { path: 'own.txt' }))).data['reason']).toBe('not_a_folder');
    });
  });

  it('reading follows links and `..` that stay inside', async () => {
    for (const path of ['own.txt', './own.txt', 'file-in', 'sub/../own.txt', join(inside, 'own.txt')]) {
      expect(await readFile(workspace, { path })).toMatchObject({ path: 'own.txt', lines: ['own'] });
    }
    expect((await readFile(workspace, { path: 'folder-in/deep.txt' })).path).toBe('sub/deep.txt');
    expect((await readFile(workspace, { path: '../own.txt', cwd: 'sub' })).path).toBe('own.txt');
  });

  describe('writing is rejected and changes nothing, inside or outside, for', () => {
    it.each<[string, () => string, string]>([
      ['a path above the root', () => '../outside/secret.txt', 'outside'],
      ['an absolute path', () => join(outside, 'new.txt'), 'outside'],
      ['a link to a file outside', () => 'file-out', 'link_outside'],
      ['a chain of links', () => 'chain-out', 'link_outside'],
      ['a path through a linked folder', () => 'folder-out/new.txt', 'link_outside'],
      ['new folders behind a linked folder', () => 'folder-out/a/b/c.txt', 'link_outside'],
      ['a link that leads nowhere outside', () => 'dangling-out', 'missing'],
      ['a link that leads nowhere', () => 'dangling-in', 'missing'],
      ['a new folder where a link leads nowhere', () => 'dangling-in/x.txt', 'not_a_folder'],
      ['a folder', () => 'sub', 'not_a_file'],
      ['the root', () => '.', 'not_a_file'],
      ['a named pipe', () => 'fifo', 'not_a_file'],
      ['a socket', () => 'socket', 'not_a_file'],
      ['a device behind a link', () => 'device', 'link_outside'],
      ['a file used as a folder', () => 'own.txt/x', 'not_a_folder'],
      ['a git hook', () => '.git/hooks/pre-commit', 'protected'],
      ['a git hook in other letters', () => '.GIT/hooks/pre-commit', 'protected'],
      ['a git hook through a link', () => 'hooks-link/pre-commit', 'protected'],
      ['a git hook through `..`', () => 'sub/../.git/config', 'protected'],
      ['a shell start-up file', () => 'sub/.bashrc', 'protected'],
      ['agent configuration', () => 'toolscript.config.json', 'protected'],
      ['the head of a repository in any folder', () => 'sub/HEAD', 'protected'],
      ['the way from a folder to a repository', () => 'sub/commondir', 'protected'],
      ['a NUL byte', () => 'a\0b', 'bad_path'],
      ['a long name', () => 'n'.repeat(300), 'bad_path'],
    ])('%s', async (_, path, reason) => {
      const before = [snapshot(inside), snapshot(outside)];
      const error = await refusal(() => writeFile(workspace, { path: path(), content: 'taken over' }));
      expect(error.data['reason']).toBe(reason);
      expect([snapshot(inside), snapshot(outside)]).toEqual(before);
    });
  });

  it('writing follows a link to a file inside and keeps the link', async () => {
    const result = await writeFile(workspace, { path: 'file-in', content: 'own\n' });
    expect(result).toMatchObject({ path: 'own.txt', created: false });
    expect(snapshot(inside)['file-in']).toBe('link own.txt');
  });

  it('writing over a hard link does not change the other name', async () => {
    await writeFile(workspace, { path: 'hard-link', content: 'new' });
    expect(readFileSync(join(outside, 'secret.txt'), 'utf8')).toBe(SECRET);
    expect(readFileSync(join(inside, 'hard-link'), 'utf8')).toBe('new');
    expect(existsSync(join(outside, 'new.txt'))).toBe(false);
  });

  it('new files and folders are created with the usual permissions, and no temporary file is left', async () => {
    const result = await writeFile(workspace, { path: 'new/a/b.txt', content: 'é' });
    expect(result).toEqual({
      success: true,
      path: 'new/a/b.txt',
      bytes: 2,
      created: true,
      content: 'Created new/a/b.txt (2 bytes).',
    });
    expect(statSync(join(inside, 'new/a/b.txt')).mode & 0o777).toBe(0o666 & ~process.umask());
    expect(Object.keys(snapshot(inside)).filter((path) => path.includes('.toolscript-'))).toEqual([]);
  });

  it('a replaced file keeps its permissions', async () => {
    writeFileSync(join(inside, 'run.sh'), '#!/bin/sh\n', { mode: 0o755 });
    chmodSync(join(inside, 'run.sh'), 0o751);
    await writeFile(workspace, { path: 'run.sh', content: '#!/bin/sh\necho hi\n' });
    expect(statSync(join(inside, 'run.sh')).mode & 0o777).toBe(0o751);
  });

  it('a file marked read-only is not replaced', async () => {
    writeFileSync(join(inside, 'locked.txt'), 'x', { mode: 0o444 });
    expect((await refusal(() => writeFile(workspace, { path: 'locked.txt', content: 'y' }))).data['reason']).toBe(
      'not_permitted',
    );
  });

  it('half a character is not written', async () => {
    expect((await refusal(() => writeFile(workspace, { path: 'half.txt', content: 'a\uD83D' }))).data['reason']).toBe(
      'not_text',
    );
    expect(existsSync(join(inside, 'half.txt'))).toBe(false);
  });
});

describe('hard links', () => {
  it('below node_modules are read, because package managers make them', async () => {
    const parent = newFolder({ 'store/index.js': 'exports.a = 1;\n', 'app/node_modules/a/package.json': '{}' });
    linkSync(join(parent, 'store/index.js'), join(parent, 'app/node_modules/a/index.js'));
    const workspace = createWorkspace({ roots: join(parent, 'app') });
    expect((await readFile(workspace, { path: 'node_modules/a/index.js' })).lines).toEqual(['exports.a = 1;']);
  });

  it('are read everywhere if the host allows it', async () => {
    const parent = newFolder({ 'store/x': 'x', 'app/y': 'y' });
    linkSync(join(parent, 'store/x'), join(parent, 'app/x'));
    const workspace = createWorkspace({ roots: join(parent, 'app'), hardLinks: 'read' });
    expect((await readFile(workspace, { path: 'x' })).lines).toEqual(['x']);
  });
});

describe('several roots', () => {
  it('are accessed by absolute paths, and the first by relative ones; read-only roots are not written', async () => {
    const parent = newFolder({ 'a/x': 'in a', 'b/x': 'in b', 'a/vendor/v': 'v' });
    const workspace = createWorkspace({
      roots: [
        join(parent, 'a'),
        { path: join(parent, 'b'), access: 'read' },
        { path: join(parent, 'a/vendor'), access: 'read' },
      ],
    });
    expect(await readFile(workspace, { path: 'x' })).toMatchObject({ path: 'x', lines: ['in a'] });
    expect(await readFile(workspace, { path: join(parent, 'b/x') })).toMatchObject({
      path: join(parent, 'b/x'),
      lines: ['in b'],
    });
    await writeFile(workspace, { path: 'x', content: 'new' });
    for (const path of [join(parent, 'b/x'), join(parent, 'b/new'), 'vendor/v', 'vendor/new/file']) {
      expect((await refusal(() => writeFile(workspace, { path, content: 'new' }))).data['reason']).toBe('read_only');
    }
    expect(readFileSync(join(parent, 'b/x'), 'utf8')).toBe('in b');
  });

  it('may be given through a link, and absolute paths may use that spelling', async () => {
    const parent = newFolder({ 'real/x': 'text' });
    symlinkSync('real', join(parent, 'alias'));
    const workspace = createWorkspace({ roots: join(parent, 'alias') });
    expect(await readFile(workspace, { path: join(parent, 'alias/x') })).toMatchObject({ path: 'x' });
    expect(await readFile(workspace, { path: join(parent, 'real/x') })).toMatchObject({ path: 'x' });
  });

  it('are named so that every tool accepts the paths in results', async () => {
    const parent = newFolder({ 'a/same.txt': 'in a', 'b/same.txt': 'in b', 'b/c/same.txt': 'in c' });
    const [a, b, c] = ['a', 'b', 'b/c'].map((name) => join(parent, name)) as [string, string, string];
    const workspace = createWorkspace({ roots: [a, { path: b, access: 'read' }, c] });
    const named = ['same.txt', join(b, 'same.txt'), join(c, 'same.txt')];
    const texts = ['in a', 'in b', 'in c'];
    for (const [index, root] of [a, b, c].entries()) {
      const { path } = await readFile(workspace, { path: join(root, 'same.txt') });
      const listed = (await listDir(workspace, { path: root, depth: 1 })).entries.find(({ type }) => type === 'file')!;
      const grepped = (await grepFiles(workspace, { pattern: texts[index]!, path: root })).files;
      const found = (await fileSearch(workspace, { pattern: 'same', path: root })).files;
      expect([path, listed.path, ...grepped]).toEqual(Array.from({ length: 3 }, () => named[index]));
      expect(found.map((file) => file.path)).toContain(named[index]);
      expect((await readFile(workspace, { path: listed.path })).lines).toEqual([texts[index]]);
    }
    // A root inside a read-only one keeps its own access.
    expect(await writeFile(workspace, { path: join(c, 'new.txt'), content: '' })).toMatchObject({ created: true });
    expect((await refusal(() => writeFile(workspace, { path: join(b, 'x'), content: '' }))).data['reason']).toBe(
      'read_only',
    );
  });

  it('count as one workspace for links, and each keeps its access', async () => {
    const parent = newFolder({ 'a/x': 'in a', 'b/y': 'in b', 'c/z': 'outside' });
    symlinkSync('../b', join(parent, 'a/to-b'));
    symlinkSync('../c', join(parent, 'a/to-c'));
    const workspace = createWorkspace({ roots: [join(parent, 'a'), { path: join(parent, 'b'), access: 'read' }] });
    expect(await readFile(workspace, { path: 'to-b/y' })).toMatchObject({ path: join(parent, 'b/y') });
    expect((await refusal(() => readFile(workspace, { path: 'to-c/z' }))).data['reason']).toBe('link_outside');
    expect((await refusal(() => writeFile(workspace, { path: 'to-b/y', content: '' }))).data['reason']).toBe(
      'read_only',
    );
  });

  it('beyond the first are named to the model, with their access', () => {
    const parent = newFolder({ 'a/x': '', 'b/x': '' });
    const [a, b] = [join(parent, 'a'), join(parent, 'b')];
    const both = createWorkspace({ roots: [a, { path: b, access: 'read' }] });
    for (const tool of [listDirTool(both), grepFilesTool(both)])
      expect(tool.description).toContain(`Other folders, by absolute paths: '${b}' (read only).`);
    expect(listDirTool(createWorkspace({ roots: a })).description).not.toContain('Other folders');
  });

  it('must not be given twice, which would make their access ambiguous', () => {
    const folder = newFolder();
    expect(() => createWorkspace({ roots: [folder, { path: `${folder}/.`, access: 'read' }] })).toThrow('given twice');
  });

  it('must exist and be folders', () => {
    const parent = newFolder({ file: '' });
    for (const roots of [join(parent, 'none'), join(parent, 'file'), '', []]) {
      expect(() => createWorkspace({ roots })).toThrow(ToolscriptUsageError);
    }
    expect(() => createWorkspace({ roots: parent, unprotected: ['nonsense'] })).toThrow(ToolscriptUsageError);
  });
});

describe('huge files', () => {
  it('are rejected by their size, including sparse ones', async () => {
    const folder = newFolder({ 'sparse.txt': 'a' });
    truncateSync(join(folder, 'sparse.txt'), 5 * 1024 ** 3);
    const error = await refusal(() => readFile(createWorkspace({ roots: folder }), { path: 'sparse.txt' }));
    expect(error.data).toMatchObject({ reason: 'too_large', bytes: 5 * 1024 ** 3 });
    expect(error.message).toContain('10 MB');
  });
});
