import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { codingTools, createWorkspace, planUndo, undoChanges } from '@toolscript/tools';
import type { Tool } from '@toolscript/core/protocol';
import { describe, expect, it } from 'vitest';
import { snapshot } from '../support/temporary-folder.js';
import { newFolder } from '@toolscript/testkit/folder';

const SCRIPT = 'scr_exec';

function git(root: string, ...args: string[]): string {
  const identity = ['-c', 'user.name=t', '-c', 'user.email=t@example.com'];
  return execFileSync('git', ['-C', root, ...identity, ...args], { encoding: 'utf8' });
}

/** A workspace whose commands run without a sandbox, in a repository with one commit. */
class GitPlace {
  readonly root: string;
  readonly #options: Parameters<typeof createWorkspace>[0];
  readonly #tools: readonly Tool[];

  constructor(files: Record<string, string>, { isGit = true, bounds = {}, root = '' } = {}) {
    this.root = root === '' ? newFolder(files) : root;
    if (isGit && root === '') {
      git(this.root, 'init', '-q');
      git(this.root, 'add', '-A');
      git(this.root, 'commit', '-qm', 'first');
    }
    const undo = { folder: join(newFolder(), 'changes'), ...bounds };
    this.#options = { roots: this.root, stateFolder: newFolder(), undo };
    this.#tools = codingTools({ ...this.#options, exec: { sandbox: 'off' } });
  }

  sh(line: string): Promise<unknown> {
    return this.call('exec', { command: ['sh', '-ec', line] });
  }

  async call(name: string, input: object): Promise<unknown> {
    const tool = this.#tools.find((one) => one.name === name)!;
    const checked = tool.validateInput(input);
    if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
    const context = { signal: new AbortController().signal, scriptId: SCRIPT, callId: `call_${name}` };
    return tool.execute(checked.value as never, context as never);
  }

  plan(diff = false) {
    return planUndo(createWorkspace(this.#options), SCRIPT, { diff });
  }

  undo(direction: 'undo' | 'redo' = 'undo') {
    return undoChanges(createWorkspace(this.#options), SCRIPT, { direction });
  }

  /** The files, the index and the refs of the user's repository. */
  state(): Record<string, string> {
    return snapshot(this.root);
  }
}

const FILES = { 'a.txt': 'one\r\ntwo\n', 'gone.txt': 'gone', 'deep/er/c.txt': 'c', '.gitignore': 'build\n' };
const CHANGES =
  'echo x >> a.txt; rm gone.txt; mkdir -p new/sub; echo n > new/sub/n.txt; echo y > dirty.txt; chmod +x deep/er/c.txt';

describe('the undo of a command in a git workspace', () => {
  it('restores the files that it changed, added and deleted, tracked or not, and redo changes them again', async () => {
    const place = new GitPlace(FILES);
    writeFileSync(join(place.root, 'dirty.txt'), 'not committed');
    const before = place.state();
    await place.sh(CHANGES);
    const after = place.state();
    expect(await place.undo()).toMatchObject({ files: expect.arrayContaining([{ path: 'a.txt', change: 'update' }]) });
    expect(place.state()).toEqual(before);
    await place.undo('redo');
    expect(place.state()).toEqual(after);
  });

  it('never touches the index, the refs and the objects of the user, nor a folder that was there', async () => {
    const place = new GitPlace(FILES);
    mkdirSync(join(place.root, 'empty'));
    writeFileSync(join(place.root, 'staged.txt'), 'staged');
    git(place.root, 'add', 'staged.txt');
    const before = place.state();
    await place.sh('echo more > staged.txt; echo e > empty/e.txt');
    await place.undo();
    expect(place.state()).toEqual(before);
  });

  it('shows what it would revert', async () => {
    const place = new GitPlace(FILES);
    await place.sh('echo three > a.txt');
    expect(await place.plan(true)).toMatchObject({
      files: [{ path: 'a.txt', change: 'update', diff: expect.stringContaining('-three') }],
      gaps: [{ callId: 'call_exec', reason: expect.stringContaining('files that git ignores') }],
    });
  });

  it('leaves ignored files alone, and offers nothing if a command changed nothing else', async () => {
    const place = new GitPlace(FILES);
    await place.sh('mkdir build; echo o > build/out.o');
    expect(await place.undo()).toMatchObject({ refused: 'nothing_recorded' });
    expect(readdirSync(place.root)).toContain('build');
  });

  it('joins the changes of commands and of writeFile', async () => {
    const place = new GitPlace(FILES);
    const before = place.state();
    await place.call('writeFile', { path: 'a.txt', content: 'written' });
    await place.sh('echo x >> a.txt');
    await place.call('writeFile', { path: 'a.txt', content: 'again' });
    await Promise.all([
      place.sh('while [ ! -e b.txt ]; do sleep 0.05; done; echo one > c.txt'),
      place.sh('while [ ! -e b.txt ]; do sleep 0.05; done; echo two > d.txt'),
      place.call('writeFile', { path: 'b.txt', content: 'beside' }),
    ]);
    expect(await place.undo()).not.toHaveProperty('refused');
    expect(place.state()).toEqual(before);
  });

  it('is refused if a file has changed since', async () => {
    const place = new GitPlace(FILES);
    await place.sh('echo x >> a.txt');
    writeFileSync(join(place.root, 'a.txt'), 'mine');
    expect(await place.undo()).toMatchObject({ refused: 'conflicts', conflicts: [{ path: 'a.txt' }] });
  });

  it('names the files that are too large to be stored', async () => {
    const place = new GitPlace(FILES, { bounds: { maxFileBytes: 100 } });
    writeFileSync(join(place.root, 'large.txt'), 'x'.repeat(200));
    await place.sh('echo x >> large.txt; echo x >> a.txt');
    expect(await place.plan()).toMatchObject({
      files: [{ path: 'a.txt' }],
      notUndoable: [{ path: 'large.txt', reason: expect.stringContaining('was not stored') }],
    });
  });

  it('runs no filter and no monitor of the repository, and keeps the bytes of a filtered file', async () => {
    const place = new GitPlace({ ...FILES, '.gitattributes': '*.txt filter=evil\n' });
    const mark = join(newFolder(), 'mark');
    const program = join(newFolder(), 'evil.sh');
    writeFileSync(program, `#!/bin/sh\ntouch ${mark}\ncat\n`);
    chmodSync(program, 0o755);
    git(place.root, 'config', 'filter.evil.clean', program);
    git(place.root, 'config', 'core.fsmonitor', program);
    writeFileSync(join(place.root, 'a.txt'), 'changed');
    await place.sh('echo x >> a.txt; rm gone.txt');
    expect(() => readFileSync(mark)).toThrow('ENOENT');
    expect(await place.undo()).toMatchObject({ notUndoable: [{ path: 'a.txt' }, { path: 'gone.txt' }] });
  });

  it('of a folder without git says why nothing is recorded', async () => {
    const place = new GitPlace(FILES, { isGit: false });
    await place.sh('echo x >> a.txt');
    expect(await place.plan()).toMatchObject({
      refused: 'nothing_recorded',
      gaps: [{ reason: expect.stringContaining('the workspace is not in a git repository') }],
    });
  });

  it('in a folder of a larger repository changes nothing outside of the folder', async () => {
    const outer = new GitPlace({ ...FILES, 'deep/w/x.txt': 'x' });
    const place = new GitPlace({}, { root: join(outer.root, 'deep') });
    const before = outer.state();
    await place.sh('echo y >> w/x.txt; rm er/c.txt');
    expect(await place.undo()).toMatchObject({ files: [{ path: 'er/c.txt' }, { path: 'w/x.txt' }] });
    expect(outer.state()).toEqual(before);
  });
});
