import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ToolCallError } from '@toolscript/core/protocol';
import { beforeAll, describe, expect, it } from 'vitest';
import { listDir } from '#tools/files/list-dir.js';
import { readFile } from '#tools/files/read-file.js';
import { createWorkspace, type Workspace } from '#tools/files/workspace.js';
import { writeFile } from '#tools/files/write-file.js';
import { viewImage } from '#tools/media/view-image.js';
import { fileSearch } from '#tools/search/file-search.js';
import { grepFiles } from '#tools/search/grep-files.js';
import { snapshot } from '../support/temporary-folder.js';
import { newFolder } from '@toolscript/testkit/folder';

const SECRET = 'SECRET outside';

let inside: string;
let outside: string;
let workspace: Workspace;

beforeAll(() => {
  const parent = newFolder({
    'outside/secret.txt': SECRET,
    'inside/own.txt': 'own\n',
    'inside/sub/deep.txt': 'deep\n',
    'inside/caf\u00e9.txt': 'composed\n',
  });
  inside = join(parent, 'inside');
  outside = join(parent, 'outside');
  const link = (target: string, name: string): void => symlinkSync(target, join(inside, name));
  link('../outside', 'out');
  link('../outside/secret.txt', 'one');
  link('one', 'two');
  link('two', 'three');
  link('three', 'four');
  link('/proc/self/root', 'process-root');
  link(`/proc/${process.pid}/cwd`, 'process-cwd');
  link('/proc/self/fd', 'open-files');
  link('/dev/fd/0', 'standard-input');
  link('/proc/self/mem', 'memory');
  link('/proc/self/environ', 'environment');
  link('/', 'top');
  link('sub/../../outside/secret.txt', 'dotted');
  linkSync(join(outside, 'secret.txt'), join(inside, 'twin.txt'));
  execFileSync('mkfifo', [join(inside, 'pipe')]);
  workspace = createWorkspace({ roots: inside });
});

/** The expected result of every trick: a clear refusal by each tool that takes a path. */
const TRICKS: readonly [string, () => string][] = [
  ['one step up', () => '../outside/secret.txt'],
  ['one step up, in the middle', () => 'sub/../../outside/secret.txt'],
  ['steps up after a missing folder', () => 'none/../../outside/secret.txt'],
  ['steps up hidden between single dots and slashes', () => './/sub/.//../..//outside/./secret.txt'],
  ['more steps up than there are folders', () => `${'../'.repeat(200)}etc/passwd`],
  ['an absolute path', () => '/etc/passwd'],
  ['an absolute path with two slashes', () => '//etc/passwd'],
  ['an absolute path through the workspace', () => `${inside}/../outside/secret.txt`],
  ['a folder whose name begins like the root', () => `${inside}x/secret.txt`],
  ['the home folder', () => '~/.ssh/id_ed25519'],
  ["somebody's home folder", () => '~root/.bashrc'],
  ['a variable', () => '$HOME/.bashrc'],
  ['a NUL byte behind an allowed name', () => 'own.txt\0/../../outside/secret.txt'],
  ['a NUL byte alone', () => '\0'],
  ['nothing', () => ''],
  ['a space', () => ' '],
  ['a trailing dot', () => 'own.txt.'],
  ['a trailing space', () => 'own.txt '],
  ['a file used as a folder', () => 'own.txt/x'],
  ['three dots', () => '.../outside/secret.txt'],
  ['dots with spaces', () => '.. /outside/secret.txt'],
  ['a link', () => 'one'],
  ['a chain of links', () => 'four'],
  ['a link with dots in it', () => 'dotted'],
  ['a linked folder', () => 'out/secret.txt'],
  ['a linked folder and back in', () => 'out/../outside/secret.txt/'],
  ['a link to the top', () => 'top/etc/passwd'],
  ['a hard link', () => 'twin.txt'],
  ['the root of the process', () => 'process-root/etc/passwd'],
  ['the start folder of the process', () => 'process-cwd/package.json'],
  ['the open files of the process', () => 'open-files/0'],
  ['standard input', () => 'standard-input'],
  ['the memory of the process', () => 'memory'],
  ['the environment of the process', () => 'environment'],
  ['/proc/self/root, spelled out', () => '/proc/self/root/etc/passwd'],
  ['/dev/fd, spelled out', () => '/dev/fd/0'],
  ['/dev/stdin', () => '/dev/stdin'],
  ['a named pipe', () => 'pipe'],
  ['another normal form of Unicode', () => 'cafe\u0301.txt'],
  ['wide dots', () => '\uff0e\uff0e/outside/secret.txt'],
  ['a wide slash', () => '..\uff0foutside\uff0fsecret.txt'],
  ['a slash in too many bytes, as Latin-1', () => '..\u00c0\u00afoutside\u00c0\u00afsecret.txt'],
  ['an invisible character', () => 'own\u200b.txt'],
  ['a turned direction', () => 'own\u202etxt.'],
  ['half a character', () => 'own\ud800.txt'],
  ['a long name', () => 'n'.repeat(256)],
  ['a long name in few characters', () => '\u00e9'.repeat(128)],
  ['a long path', () => 'd/'.repeat(2100)],
  ['a deep path', () => `${'d/'.repeat(1000)}x`],
  ['a Windows path', () => 'C:\\Windows\\win.ini'],
  ['a Windows path with slashes', () => 'C:/Windows/win.ini'],
  ['Windows steps up', () => '..\\outside\\secret.txt'],
  ['mixed separators', () => '..\\../outside/secret.txt'],
  ['a share', () => '\\\\server\\share\\file'],
  ['a Windows device path', () => '\\\\?\\C:\\file'],
  ['a Windows device name', () => 'CON'],
  ['a stream', () => 'own.txt::$DATA'],
  ['an encoded URL path', () => '%2e%2e/outside/secret.txt'],
  ['an encoded slash', () => '..%2foutside%2fsecret.txt'],
  ['a doubly encoded path', () => '%252e%252e%252foutside'],
  ['a file URL', () => 'file:///etc/passwd'],
  ['a file URL that leads out', () => `file://${'/..'.repeat(20)}/etc/passwd`],
  ['a line end', () => 'own.txt\n'],
  ['a glob', () => '*.txt'],
];

const readers: readonly [string, (path: string) => Promise<unknown>][] = [
  ['readFile', (path) => readFile(workspace, { path })],
  ['viewImage', (path) => viewImage(workspace, { path })],
  ['listDir', (path) => listDir(workspace, { path })],
  ['grepFiles', (path) => grepFiles(workspace, { pattern: 'SECRET|root', path, matches: true, context: 2 })],
  ['fileSearch', (path) => fileSearch(workspace, { pattern: 'secret', path })],
];

/** Hard links: a search may find the name, but its content is not shown. */
const FINDS_NOTHING: Readonly<Record<string, readonly string[]>> = { 'a hard link': ['grepFiles'] };

describe.runIf(process.platform !== 'win32').each(readers)('%s rejects in one sentence', (tool, read) => {
  it.each(TRICKS)('%s', async (trick, path) => {
    const result = await read(path()).catch((error: unknown) => error);
    expect(JSON.stringify(result)).not.toContain(SECRET);
    if (FINDS_NOTHING[trick]?.includes(tool)) return expect(result).toMatchObject({ files: [] });
    expect(result).toBeInstanceOf(ToolCallError);
    const { message, data } = result as ToolCallError & { data: { reason: string } };
    expect(data.reason).toMatch(/^(outside|link_outside|missing|bad_path|not_a_file|not_a_folder|hard_link)$/);
    expect(message).not.toContain(SECRET);
    expect(message).toMatch(/^[^\n\0]{5,400}\.$/);
  });
});

describe.runIf(process.platform !== 'win32')('writeFile changes nothing outside and nothing unexpected', () => {
  it.each(TRICKS)('%s', async (_, path) => {
    const before = snapshot(outside);
    const others = snapshot(inside);
    const target = path();
    const result = await writeFile(workspace, { path: target, content: 'taken over' }).catch((error: unknown) => error);
    expect(snapshot(outside)).toEqual(before);
    if (result instanceof ToolCallError) return expect(snapshot(inside)).toEqual(others);
    // A file with an unusual but allowed name is written inside the workspace under exactly this name. Other files
    // stay.
    const { path: written } = result as { path: string };
    const now = snapshot(inside);
    expect(now[written]).toMatch(/taken over$/);
    for (const [name, state] of Object.entries(others)) if (name !== written) expect(now[name]).toBe(state);
    execFileSync('rm', ['-rf', '--', join(inside, written.split('/')[0]!)]);
    if (target === 'twin.txt') linkSync(join(outside, 'secret.txt'), join(inside, 'twin.txt'));
  });
});

describe.runIf(process.platform === 'linux')('the kernel’s own files', () => {
  it.each([
    'proc/self/environ',
    'proc/self/root/proc/self/environ',
    `proc/${process.pid}/cmdline`,
    'proc/self/maps',
    'sys/kernel/uevent_seqnum',
    'dev/fd/0',
    'dev/null',
    'dev/zero',
  ])('are not read even if the root contains them: %s', async (path) => {
    const everything = createWorkspace({ roots: '/' });
    const error = await readFile(everything, { path }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ToolCallError);
    expect((error as { data: { reason: string } }).data.reason).toMatch(
      /^(not_a_file|link_outside|missing|io|not_permitted)$/,
    );
  });
});

it('are handled by a search of the whole folder, which waits for no pipe and follows no link', async () => {
  const { files } = await grepFiles(workspace, { pattern: 'own|SECRET|root:' });
  expect(files).toEqual(['own.txt']);
  const names = (await fileSearch(workspace, { pattern: '**', limit: 2000 })).files.map(({ path }) => path);
  expect(names.toSorted()).toEqual(['caf\u00e9.txt', 'own.txt', 'sub/deep.txt', 'twin.txt']);
});

describe('names that differ only in case', () => {
  it('are exactly the names of the file system', async () => {
    mkdirSync(join(inside, 'case'));
    writeFileSync(join(inside, 'case/Name.txt'), 'upper\n');
    const other = await readFile(workspace, { path: 'case/name.txt' }).catch((error: unknown) => error);
    // A file system that ignores the difference opens it; the result then has the stored name of the file.
    if (other instanceof ToolCallError) expect(other.data).toMatchObject({ reason: 'missing' });
    else expect(other).toMatchObject({ lines: ['upper'] });
  });
});

describe('a file that is replaced while it is opened', () => {
  it('is opened again, and its new content read', async () => {
    const replacing = new AbortController();
    const replace = async (): Promise<void> => {
      while (!replacing.signal.aborted) {
        writeFileSync(join(inside, '.new'), 'replaced\n');
        renameSync(join(inside, '.new'), join(inside, 'busy.txt'));
        await new Promise((resolve) => setTimeout(resolve, 15));
      }
    };
    writeFileSync(join(inside, 'busy.txt'), 'replaced\n');
    const done = replace();
    try {
      for (let count = 0; count < 100; count += 1) {
        const result = await readFile(workspace, { path: 'busy.txt' });
        expect(result).toMatchObject({ path: 'busy.txt', lines: ['replaced'] });
      }
    } finally {
      replacing.abort();
      await done;
    }
  });
});
