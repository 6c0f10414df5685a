import { closeSync, openSync, readFileSync, symlinkSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commitChanges } from '#tools/files/commit.js';
import { sha256 } from '#tools/files/content-hash.js';
import { findWriteTarget } from '#tools/files/target.js';
import { createWorkspace, resolvePath } from '#tools/files/workspace.js';
import { writeFile } from '#tools/files/write-file.js';
import { applyPatch } from '#tools/patch/apply-patch.js';
import { refusal, texts } from '../support/temporary-folder.js';
import { newFolder } from '@toolscript/testkit/folder';

const MARK = '\uFEFF';
const diff = (...lines: string[]): string => ['--- a/a', '+++ b/a', ...lines, ''].join('\n');

async function patched(content: string, patch: string): Promise<string | undefined> {
  const root = newFolder({ a: content });
  await applyPatch(patch, { root });
  return texts(root)['a'];
}

describe('a byte order mark', () => {
  it.each<[string, string, string]>([
    ['is kept by a patch that does not show it', diff('@@ -1 +1 @@', '-one', '+two'), `${MARK}two\n`],
    [
      'is kept by a patch that shows it on both sides',
      diff('@@ -1 +1 @@', `-${MARK}one`, `+${MARK}two`),
      `${MARK}two\n`,
    ],
    ['is kept by a patch that keeps its line', diff('@@ -1 +1,2 @@', ` ${MARK}one`, '+two'), `${MARK}one\ntwo\n`],
    ['is removed by a patch that shows it on the old side alone', diff('@@ -1 +1 @@', `-${MARK}one`, '+one'), 'one\n'],
    ['is not doubled', diff('@@ -1 +1 @@', '-one', `+${MARK}two`), `${MARK}two\n`],
  ])('%s', async (_, patch, expected) => {
    expect(await patched(`${MARK}one\n`, patch)).toBe(expected);
  });

  it('is not a line that the deletion of a file has to show', async () => {
    const root = newFolder({ a: `${MARK}one\n` });
    await applyPatch('--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n', { root });
    expect(texts(root)).toEqual({});
  });
});

describe('the date of a side that does not exist', () => {
  it.each([
    '1970-01-01 00:00:00.000000000 +0000',
    '1970-01-01 00:00:00',
    '1970-01-01 01:00:00.000000000 +0100',
    '1969-12-31 19:00:00.000000000 -0500',
  ])('%s adds a file, or deletes it', async (date) => {
    const root = newFolder();
    await applyPatch(
      `--- a/new.txt\t${date}\n+++ b/new.txt\t2024-05-05 10:00:00.000000000 +0000\n@@ -0,0 +1 @@\n+x\n`,
      { root },
    );
    expect(texts(root)).toEqual({ 'new.txt': 'x\n' });
    await applyPatch(
      `--- a/new.txt\t2024-05-05 10:00:00.000000000 +0000\n+++ b/new.txt\t${date}\n@@ -1 +0,0 @@\n-x\n`,
      { root },
    );
    expect(texts(root)).toEqual({});
  });

  it('is the start of Unix time and no other', async () => {
    const patch = '--- a/a\t1970-01-01 00:00:01\n+++ b/a\t2024-05-05 10:00:00\n@@ -1 +1 @@\n-one\n+two\n';
    expect(await patched('one\n', patch)).toBe('two\n');
  });
});

describe('a name with blanks at its edges', () => {
  it('is accepted in double quotes', async () => {
    const root = newFolder({ ' a ': 'one\n', a: 'one\n' });
    await applyPatch('--- "a/ a "\n+++ "b/ a "\n@@ -1 +1 @@\n-one\n+two\n', { root });
    expect(texts(root)).toEqual({ ' a ': 'two\n', a: 'one\n' });
  });

  it.each(['--- a/a \n+++ b/a \n', '---  a/a\n+++  b/a\n'])('is rejected without them', async (header) => {
    const root = newFolder({ a: 'one\n' });
    const error = await refusal(() => applyPatch(`${header}@@ -1 +1 @@\n-one\n+two\n`, { root }));
    expect(error.message).toContain('a name with blanks at its edges must be in double quotes');
  });
});

describe('limits of a patch', () => {
  it('reject too many files', async () => {
    const adds = Array.from({ length: 1_001 }, (_, at) => `*** Add File: f${at}\n+x\n`).join('');
    const error = await refusal(() =>
      applyPatch(`*** Begin Patch\n${adds}*** End Patch`, { root: newFolder(), dryRun: true }),
    );
    expect(error.message).toContain('at most 1000 are allowed');
  });

  it('reject names that are too long together', async () => {
    const adds = Array.from({ length: 600 }, (_, at) => `*** Add File: ${'q/'.repeat(90)}${at}\n+x\n`).join('');
    const error = await refusal(() =>
      applyPatch(`*** Begin Patch\n${adds}*** End Patch`, { root: newFolder(), dryRun: true }),
    );
    expect(error.message).toContain('at most 100000 are allowed');
  });

  it('reject too many lines', async () => {
    const error = await refusal(() => applyPatch('\n'.repeat(50_001), { root: newFolder() }));
    expect(error.message).toContain('at most 50000 are allowed');
  });

  it.each(['diff --git a/NAME b/NAME', '--- a/NAME\n+++ b/x', '--- "a/NAME"\n+++ b/x'])(
    'reject a name that is too long for any file: %s',
    async (header) => {
      const patch = `${header.replaceAll('NAME', 'n'.repeat(41_000))}\n@@ -1 +1 @@\n-x\n+y\n`;
      const error = await refusal(() => applyPatch(patch, { root: newFolder() }));
      expect(error.message).toContain('a file name is too long');
    },
  );

  it('reject a long command around a patch before it is parsed', async () => {
    const commands = ['rm x; '.repeat(5_000), `cd ${'a'.repeat(20_000)} && `];
    for (const command of commands) {
      const patch = `apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: n\n+x\n*** End Patch\nEOF\n${command}`;
      const error = await refusal(() => applyPatch(patch, { root: newFolder() }));
      expect(error.message).toContain('does more than apply one patch');
    }
  });

  it('do not include the content of a heredoc', async () => {
    const root = newFolder();
    const lines = Array.from({ length: 5_000 }, (_, at) => `+$(line "${at}`);
    await applyPatch(
      ['apply_patch <<EOF', '*** Begin Patch', '*** Add File: n', ...lines, '*** End Patch', 'EOF'].join('\n'),
      { root },
    );
    expect(texts(root)['n']).toHaveLength(lines.reduce((total, line) => total + line.length, 0));
  });

  it('reject files that are larger than 64 MB together', async () => {
    const root = newFolder();
    const large = `${'x'.repeat(9 * 1024 * 1024)}\n`;
    for (let at = 0; at < 4; at += 1) writeFileSync(join(root, `f${at}`), `one\n${large}`);
    const updates = Array.from({ length: 4 }, (_, at) => `*** Update File: f${at}\n@@\n-one\n+two\n`).join('');
    const error = await refusal(() => applyPatch(`*** Begin Patch\n${updates}*** End Patch`, { root }));
    expect(error.message).toContain('larger than 64 MB together');
  });
});

describe('a file that another program changes while it is patched', () => {
  const contents = { a: '1\n' };

  it('is not replaced if another file took its name', async () => {
    const root = newFolder(contents);
    const workspace = createWorkspace({ roots: root });
    const target = await findWriteTarget(workspace, resolvePath(workspace, 'a'));
    writeFileSync(join(root, 'a'), 'by a person\n');
    const error = await refusal(() => commitChanges(workspace, [{ target, bytes: Buffer.from('2\n') }]));
    expect(error.data['reason']).toBe('changed');
    expect(texts(root)).toEqual({ a: 'by a person\n' });
  });

  it('is not replaced if it did not exist before', async () => {
    const root = newFolder();
    const workspace = createWorkspace({ roots: root });
    const target = await findWriteTarget(workspace, resolvePath(workspace, 'a'));
    writeFileSync(join(root, 'a'), 'by a person\n');
    const error = await refusal(() => commitChanges(workspace, [{ target, bytes: Buffer.from('2\n') }]));
    expect(error.data['reason']).toBe('changed');
    expect(texts(root)).toEqual({ a: 'by a person\n' });
  });

  it('is not replaced if its content differs, even with the same time and size', async () => {
    const root = newFolder(contents);
    const workspace = createWorkspace({ roots: root });
    const target = await findWriteTarget(workspace, resolvePath(workspace, 'a'));
    const change = { target, bytes: Buffer.from('2\n'), computedFrom: sha256(Buffer.from('0\n')) };
    expect((await refusal(() => commitChanges(workspace, [change]))).data['reason']).toBe('changed');
    expect(texts(root)).toEqual(contents);
  });

  it('is restored if a process that has it open writes to the old file during the replacement', async () => {
    const root = newFolder(contents);
    const workspace = createWorkspace({ roots: root });
    const target = await findWriteTarget(workspace, resolvePath(workspace, 'a'));
    const old = openSync(join(root, 'a'), 'r+');
    const writing = {
      ...target,
      get existing() {
        if (readFileSync(join(root, 'a'), 'utf8') === '2\n') writeSync(old, 'by a person\n', 0);
        return target.existing;
      },
    };
    const error = await refusal(() => commitChanges(workspace, [{ target: writing, bytes: Buffer.from('2\n') }]));
    closeSync(old);
    expect(error.data['reason']).toBe('changed');
    expect(texts(root)).toEqual({ a: 'by a person\n' });
  });

  it('is patched again from its new content', async () => {
    const root = newFolder({ a: '1\n2\n' });
    let isChanged = false;
    const signal = Object.create(new AbortController().signal, {
      addEventListener: { value: () => undefined },
      removeEventListener: { value: () => undefined },
      aborted: {
        get: () => {
          // The plan is computed then.
          if (!isChanged && new Error('where').stack!.includes('commitChanges')) {
            isChanged = true;
            writeFileSync(join(root, 'a'), '0\n1\n2\n');
          }
          return false;
        },
      },
    }) as AbortSignal;
    await applyPatch('*** Begin Patch\n*** Update File: a\n@@\n-2\n+3\n*** End Patch', { root, signal });
    expect(isChanged).toBe(true);
    expect(texts(root)).toEqual({ a: '0\n1\n3\n' });
  });

  it('may not be in the state folder of the tools', async () => {
    const root = newFolder();
    const workspace = createWorkspace({ roots: root, stateFolder: join(root, 'state') });
    const error = await refusal(() => writeFile(workspace, { path: 'state/journals/x.open', content: '{}' }));
    expect(error.data['reason']).toBe('protected');
    symlinkSync('state', join(root, 'link'));
    expect((await refusal(() => writeFile(workspace, { path: 'link/x', content: '' }))).data['reason']).toBe(
      'protected',
    );
  });
});
