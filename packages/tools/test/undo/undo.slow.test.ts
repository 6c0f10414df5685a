import { fork, type ChildProcess } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ToolCallError } from '@toolscript/core/protocol';
import {
  applyPatchTool,
  createWorkspace,
  planUndo,
  undoChanges,
  writeFileTool,
  type Workspace,
} from '@toolscript/tools';
import { assert, asyncProperty, constantFrom, array, nat, oneof, record, constant } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { refusal, snapshot } from '../support/temporary-folder.js';
import { newFolder, put } from '@toolscript/testkit/folder';

const BOM = '\uFEFF';
const SEED_FILES = {
  'crlf.txt': 'one\r\ntwo\r\n',
  'bom.txt': `${BOM}first\nsecond\n`,
  'open-end.txt': 'no line end',
  'empty.txt': '',
  'sub/binary.bin': new Uint8Array([0, 255, 13, 10, 0, 128]),
  'sub/run.sh': '#!/bin/sh\n',
};

interface Place {
  readonly root: string;
  readonly state: string;
  readonly records: string;
  readonly workspace: Workspace;
}

function place(files: Record<string, string | Uint8Array> = SEED_FILES, bounds: object = {}): Place {
  const root = newFolder(files);
  if (existsSync(join(root, 'sub/run.sh'))) chmodSync(join(root, 'sub/run.sh'), 0o755);
  const [state, records] = [newFolder(), join(newFolder(), 'changes')];
  const workspace = createWorkspace({ roots: root, stateFolder: state, undo: { folder: records, ...bounds } });
  return { root, state, records, workspace };
}

let calls = 0;
function contextOf(scriptId: string): never {
  return { signal: new AbortController().signal, scriptId, callId: `call_${(calls += 1)}` } as never;
}

async function write(workspace: Workspace, path: string, content: string, scriptId = 'scr_a'): Promise<void> {
  await writeFileTool(workspace).execute({ path, content } as never, contextOf(scriptId));
}

async function patch(workspace: Workspace, lines: readonly string[], scriptId = 'scr_a'): Promise<void> {
  const text = ['*** Begin Patch', ...lines, '*** End Patch'].join('\n');
  await applyPatchTool(workspace).execute({ patch: text, atomic: true, dryRun: false } as never, contextOf(scriptId));
}

const NAMES = [...Object.keys(SEED_FILES), 'new.txt', 'made/deep/new.txt', 'made/other.txt'];
const CONTENTS = ['', 'x', 'a\nb\n', 'a\r\nb\r\n', `${BOM}a\n`, 'no end\nat all', '#!/bin/sh\n'];

const step = oneof(
  record({ kind: constant('write' as const), path: constantFrom(...NAMES), content: constantFrom(...CONTENTS) }),
  record({ kind: constant('delete' as const), path: constantFrom(...NAMES) }),
  record({ kind: constant('move' as const), path: constantFrom(...NAMES), to: constantFrom(...NAMES) }),
  record({ kind: constant('append' as const), path: constantFrom(...NAMES) }),
  record({ kind: constant('swap' as const), path: constantFrom(...NAMES), to: constantFrom(...NAMES) }),
);
type Step = typeof step extends { generate: (...args: never[]) => { value: infer Value } } ? Value : never;

/** Steps that do not fit the files are refused by the tools, and change nothing. */
async function perform(workspace: Workspace, made: Step): Promise<void> {
  try {
    if (made.kind === 'write') await write(workspace, made.path, made.content);
    else if (made.kind === 'delete') await patch(workspace, [`*** Delete File: ${made.path}`]);
    else if (made.kind === 'append') await patch(workspace, [`*** Update File: ${made.path}`, '@@', '+appended']);
    else if (made.kind === 'move') await patch(workspace, [`*** Update File: ${made.path}`, `*** Move to: ${made.to}`]);
    else await patch(workspace, [`*** Delete File: ${made.path}`, `*** Add File: ${made.to}`, '+swapped']);
  } catch (error) {
    if (!(error instanceof ToolCallError)) throw error;
  }
}

const steps = array(step, { minLength: 1, maxLength: 8 });

describe('undo', () => {
  it('restores the byte-identical tree after any changes of a script, and redo makes them again', async () => {
    let changed = 0;
    await assert(
      asyncProperty(steps, async (all) => {
        const { root, workspace } = place();
        const before = snapshot(root);
        for (const one of all) await perform(workspace, one);
        const after = snapshot(root);
        const undone = await undoChanges(workspace, 'scr_a');
        expect(snapshot(root)).toEqual(before);
        if ('refused' in undone) expect(undone.refused).toBe('nothing_recorded');
        if ('refused' in undone) return;
        changed += undone.files.length > 0 ? 1 : 0;
        expect(await undoChanges(workspace, 'scr_a')).toMatchObject({ refused: 'already_undone' });
        expect(await undoChanges(workspace, 'scr_a', { direction: 'redo' })).toMatchObject({ conflicts: [] });
        expect(filesOf(snapshot(root))).toEqual(filesOf(after));
        expect(await undoChanges(workspace, 'scr_a', { direction: 'redo' })).toMatchObject({ refused: 'not_undone' });
        await undoChanges(workspace, 'scr_a');
        expect(snapshot(root)).toEqual(before);
      }),
      { numRuns: 40 },
    );
    expect(changed).toBeGreaterThan(12);
  });

  it('refuses and changes nothing if another program has changed one of the files', async () => {
    let refused = 0;
    await assert(
      asyncProperty(steps, nat(), nat(2), async (all, at, how) => {
        const { root, workspace } = place();
        for (const one of all) await perform(workspace, one);
        const plan = await planUndo(workspace, 'scr_a');
        if ('refused' in plan || plan.files.length === 0) return;
        const { path, change } = plan.files[at % plan.files.length]!;
        disturb(join(root, path), change === 'delete' ? Math.max(how, 1) : how);
        const disturbed = snapshot(root);
        const undone = await undoChanges(workspace, 'scr_a', { planId: plan.planId });
        expect(undone).toMatchObject({ refused: 'conflicts' });
        expect('conflicts' in undone && undone.conflicts.map((one) => one.path)).toEqual([path]);
        expect(snapshot(root)).toEqual(disturbed);
        refused += 1;
      }),
      { numRuns: 30 },
    );
    expect(refused).toBeGreaterThan(8);
  });

  it('leaves a file alone that the user has already put back', async () => {
    const { root, workspace } = place({ 'a.txt': 'old', 'b.txt': 'old' });
    const before = snapshot(root);
    for (const path of ['a.txt', 'b.txt', 'new.txt']) await write(workspace, path, 'new');
    writeFileSync(join(root, 'a.txt'), 'old');
    rmSync(join(root, 'new.txt'));
    expect(await undoChanges(workspace, 'scr_a')).toMatchObject({ files: [{ path: 'b.txt', change: 'update' }] });
    expect(snapshot(root)).toEqual(before);
  });

  it('restores the permissions that a deleted file had, and keeps those that the user has set since', async () => {
    const { root, workspace } = place();
    await patch(workspace, ['*** Delete File: sub/run.sh']);
    await write(workspace, 'crlf.txt', 'new');
    chmodSync(join(root, 'crlf.txt'), 0o600);
    await undoChanges(workspace, 'scr_a');
    expect(lstatSync(join(root, 'sub/run.sh')).mode & 0o777).toBe(0o755);
    expect(lstatSync(join(root, 'crlf.txt')).mode & 0o777).toBe(0o600);
  });

  it('removes the folders that the script created, unless they have other entries', async () => {
    const { root, workspace } = place({});
    await write(workspace, 'a/b/c.txt', 'x');
    await write(workspace, 'd/e/f.txt', 'x');
    put(root, 'd/own.txt', 'mine');
    mkdirSync(join(root, 'empty'));
    await undoChanges(workspace, 'scr_a');
    expect(readdirSync(root).toSorted()).toEqual(['d', 'empty']);
    expect(readdirSync(join(root, 'd'))).toEqual(['own.txt']);
  });

  it('brings a deleted link back as a link, and follows none', async () => {
    const outside = newFolder({ 'secret.txt': 'theirs' });
    const { root, workspace } = place({ 'real/file.txt': 'old' });
    symlinkSync(join(outside, 'secret.txt'), join(root, 'link'));
    await patch(workspace, ['*** Delete File: link']);
    await write(workspace, 'real/file.txt', 'new');
    await undoChanges(workspace, 'scr_a');
    expect(snapshot(root)['link']).toBe(`link ${join(outside, 'secret.txt')}`);
    await undoChanges(workspace, 'scr_a', { direction: 'redo' });
    renameSync(join(root, 'real'), join(root, 'moved'));
    symlinkSync('moved', join(root, 'real'));
    const undone = await undoChanges(workspace, 'scr_a');
    expect(undone).toMatchObject({ conflicts: [{ path: 'real/file.txt', reason: 'its folder is now a link' }] });
    rmSync(join(root, 'real'));
    mkdirSync(join(outside, 'real'));
    put(outside, 'real/file.txt', 'new');
    symlinkSync(join(outside, 'real'), join(root, 'real'));
    expect(await undoChanges(workspace, 'scr_a')).toMatchObject({ refused: 'conflicts' });
    expect(readFileSync(join(outside, 'real/file.txt'), 'utf8')).toBe('new');
  });

  it('refuses a file that a command changed between two calls of the script', async () => {
    const { root, workspace } = place({ 'a.txt': 'old\n' });
    await write(workspace, 'a.txt', 'one\n');
    writeFileSync(join(root, 'a.txt'), 'formatted\n');
    await write(workspace, 'a.txt', 'two\n');
    const undone = await undoChanges(workspace, 'scr_a');
    expect(undone).toMatchObject({ refused: 'conflicts', conflicts: [{ path: 'a.txt' }] });
    expect(readFileSync(join(root, 'a.txt'), 'utf8')).toBe('two\n');
  });

  it('names a file that was too large to be stored before it writes, and restores the others', async () => {
    const { root, workspace } = place({ 'large.txt': 'x'.repeat(2_000), 'small.txt': 'old' }, { maxFileBytes: 1_000 });
    await write(workspace, 'large.txt', 'new');
    await write(workspace, 'small.txt', 'new');
    const plan = await planUndo(workspace, 'scr_a');
    expect(plan).toMatchObject({ notUndoable: [{ path: 'large.txt' }], files: [{ path: 'small.txt' }] });
    await undoChanges(workspace, 'scr_a');
    expect(readFileSync(join(root, 'large.txt'), 'utf8')).toBe('new');
    expect(readFileSync(join(root, 'small.txt'), 'utf8')).toBe('old');
  });

  it('stores no more than the limit of one script', async () => {
    const { workspace } = place({ 'a.txt': 'a'.repeat(600), 'b.txt': 'b'.repeat(600) }, { maxScriptBytes: 1_000 });
    await write(workspace, 'a.txt', 'new');
    await write(workspace, 'b.txt', 'new');
    expect(await planUndo(workspace, 'scr_a')).toMatchObject({
      files: [{ path: 'a.txt' }],
      notUndoable: [{ path: 'b.txt' }],
    });
  });

  it('reverts only what the script changed after the last undo', async () => {
    const { root, workspace } = place({ 'a.txt': 'old', 'b.txt': 'old' });
    await write(workspace, 'a.txt', 'new');
    const plan = await planUndo(workspace, 'scr_a');
    await undoChanges(workspace, 'scr_a');
    await write(workspace, 'b.txt', 'resumed');
    expect(await undoChanges(workspace, 'scr_a', { direction: 'redo' })).toMatchObject({ refused: 'not_undone' });
    const seen = 'planId' in plan ? plan.planId : '';
    expect(await undoChanges(workspace, 'scr_a', { planId: seen })).toMatchObject({ refused: 'changed' });
    const undone = await undoChanges(workspace, 'scr_a');
    expect(undone).toMatchObject({ files: [{ path: 'b.txt', change: 'update' }] });
    expect(snapshot(root)).toEqual(snapshot(place({ 'a.txt': 'old', 'b.txt': 'old' }).root));
  });

  it('shows the changed lines', async () => {
    const { workspace } = place();
    await write(workspace, 'crlf.txt', 'one\r\nthree\r\n');
    await write(workspace, 'new.txt', 'x\n');
    await patch(workspace, ['*** Delete File: sub/binary.bin']);
    const plan = await planUndo(workspace, 'scr_a', { diff: true });
    const diffs = 'files' in plan ? plan.files.map(({ diff }) => diff ?? '') : [];
    expect(diffs[0]).toContain('-three\r\n+two\r\n');
    expect(diffs[1]).toContain('--- a/new.txt');
    expect(diffs[1]).toContain('+++ /dev/null');
    expect(diffs[2]).toBe('sub/binary.bin: binary, 0 -> 6 bytes\n');
  });
});

describe('the records of changes', () => {
  it('cannot be written by the tools, even if a root contains them', async () => {
    const root = newFolder();
    const folder = join(root, 'changes');
    const workspace = createWorkspace({ roots: root, stateFolder: newFolder(), undo: { folder } });
    const { data } = await refusal(() => write(workspace, 'changes/scr_a/forged', 'x'));
    expect(data['reason']).toBe('protected');
  });

  it('are readable by their user alone', async () => {
    const { records, workspace } = place();
    await write(workspace, 'crlf.txt', 'new');
    const modes = Object.values(snapshot(records)).map((entry) => entry.replace(/^(\w+ \d+).*$/s, '$1'));
    expect(modes.toSorted()).toEqual(['file 600', 'file 600', 'folder 700', 'folder 700']);
    expect(lstatSync(records).mode & 0o777).toBe(0o700);
  });

  it('keep nothing of a change that failed, and of a call without a script', async () => {
    const { records, workspace } = place();
    await refusal(() => patch(workspace, ['*** Delete File: crlf.txt', '*** Delete File: nowhere.txt']));
    const context = { signal: new AbortController().signal, scriptId: undefined, callId: 'call_x' } as never;
    await writeFileTool(workspace).execute({ path: 'crlf.txt', content: 'new' } as never, context);
    expect(existsSync(records)).toBe(false);
  });

  it('prevent the change if they cannot be written', async () => {
    const { root, records, workspace } = place();
    writeFileSync(records, 'a file in their place');
    const { message } = await refusal(() => write(workspace, 'crlf.txt', 'new'));
    expect(message).toContain('nothing was changed');
    expect(readFileSync(join(root, 'crlf.txt'), 'utf8')).toBe('one\r\ntwo\r\n');
  });

  it('refuse the undo if a stored file is damaged', async () => {
    const { root, records, workspace } = place();
    await write(workspace, 'crlf.txt', 'new');
    const contents = join(records, 'scr_a/contents');
    for (const name of readdirSync(contents)) writeFileSync(join(contents, name), 'forged');
    expect(await undoChanges(workspace, 'scr_a')).toMatchObject({ refused: 'conflicts' });
    expect(readFileSync(join(root, 'crlf.txt'), 'utf8')).toBe('new');
  });

  it('of another workspace are refused, and no file outside is changed', async () => {
    const { root, state, records, workspace } = place();
    await write(workspace, 'crlf.txt', 'new');
    const other = createWorkspace({ roots: newFolder(), stateFolder: state, undo: { folder: records } });
    expect(await undoChanges(other, 'scr_a')).toMatchObject({ refused: 'conflicts' });
    expect(readFileSync(join(root, 'crlf.txt'), 'utf8')).toBe('new');
  });
});

const undoer = fileURLToPath(new URL('../support/undoer.mjs', import.meta.url));

describe('undo in several processes', () => {
  const message = (child: ChildProcess) => new Promise<unknown>((resolve) => child.once('message', resolve));

  it('is done by exactly one of those that try it at once', async () => {
    const { root, state, records, workspace } = place();
    const before = snapshot(root);
    for (const name of NAMES) await write(workspace, name, `${name} changed`);
    const children = [1, 2, 3].map(() => fork(undoer, [root, state, records, 'scr_a', 'once']));
    await Promise.all(children.map(message));
    const ends = children.map(message);
    for (const child of children) child.send('now');
    expect((await Promise.all(ends)).map(String).toSorted()).toEqual(['already_undone', 'already_undone', 'done']);
    expect(snapshot(root)).toEqual(before);
  });

  it('leaves the old tree or the new one after recovery, wherever it is killed', async () => {
    const files = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`f${at}`, `old ${at}\n`]));
    const { root, state, records, workspace } = place(files);
    const before = snapshot(root);
    const updates = Object.keys(files).map((name, at) => [
      `*** Update File: ${name}`,
      '@@',
      `-old ${at}`,
      `+new ${at}`,
    ]);
    await patch(workspace, [...updates.flat(), '*** Add File: made/deep/x', '+x']);
    const after = snapshot(root);
    let mixtures = 0;
    for (let trial = 0; trial < 8; trial += 1) {
      // Every other process dies when it has switched some of the files; the others die anywhere.
      const lastRename = trial % 2 === 0 ? 20 + trial : 0;
      const child = fork(undoer, [root, state, records, 'scr_a', 'forever', `${lastRename}`]);
      const ended = new Promise((resolve) => child.once('exit', resolve));
      if (lastRename === 0) {
        while (!readdirSync(root).some((name) => name.startsWith('.toolscript'))) await sleep(1);
        await sleep(Math.random() * 40);
        child.kill('SIGKILL');
      }
      await ended;
      const found = snapshot(root);
      if (!same(found, before) && !same(found, after)) mixtures += 1;
      await planUndo(workspace, 'scr_a');
      const recovered = snapshot(root);
      const isUndone = same(recovered, before);
      if (!isUndone) expect(recovered).toEqual(after);
      const again = await undoChanges(workspace, 'scr_a', { direction: isUndone ? 'redo' : 'undo' });
      expect(again).not.toHaveProperty('refused');
      expect(snapshot(root)).toEqual(isUndone ? after : before);
    }
    expect(readdirSync(join(state, 'journals'))).toEqual([]);
    expect(readdirSync(join(records, 'scr_a')).filter((name) => !/\.done$|^contents$/u.test(name))).toEqual([]);
    // Otherwise nothing was recovered here.
    expect(mixtures).toBeGreaterThanOrEqual(4);
  });
});

/** Redo makes no empty folders. */
function filesOf(tree: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(tree).filter(([, entry]) => !entry.startsWith('folder')));
}

function same(one: Record<string, string>, other: Record<string, string>): boolean {
  const sorted = (tree: Record<string, string>) =>
    JSON.stringify(
      Object.keys(tree)
        .toSorted()
        .map((key) => [key, tree[key]]),
    );
  return sorted(one) === sorted(other);
}

function disturb(path: string, how: number): void {
  if (!existsSync(path)) put(dirname(path), basename(path), 'theirs');
  else if (how === 0) rmSync(path);
  else writeFileSync(path, how === 1 ? 'theirs' : Buffer.concat([readFileSync(path), Buffer.from('!')]));
}
