import {
  chmodSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { ToolCallError } from '@toolscript/core/protocol';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { commitChanges } from '#tools/files/commit.js';
import { findWriteTarget } from '#tools/files/target.js';
import { createWorkspace, resolvePath } from '#tools/files/workspace.js';
import { writeFile } from '#tools/files/write-file.js';
import { applyPatch, applyPatchIn, applyPatchTool } from '#tools/patch/apply-patch.js';
import { parsePatch } from '#tools/patch/parse.js';
import { refusal, snapshot, texts } from '../support/temporary-folder.js';
import { newFolder } from '@toolscript/testkit/folder';

const wrap = (...lines: string[]): string => ['*** Begin Patch', ...lines, '*** End Patch'].join('\n');

describe('the report', () => {
  it('names every change with its kind and lines', async () => {
    const root = newFolder({ a: '1\n2\n', b: 'x\ny', c: 'z\n' });
    const result = await applyPatch(
      wrap(
        '*** Update File: a',
        '@@',
        '-1',
        '+one',
        '+more',
        '*** Delete File: b',
        '*** Update File: c',
        '*** Move to: d/e',
        '*** Add File: f',
        '+1',
      ),
      { root },
    );
    expect(result.changes).toEqual([
      { path: 'a', kind: 'update', added: 2, removed: 1 },
      { path: 'b', kind: 'delete', added: 0, removed: 2 },
      { path: 'c', kind: 'update', movedTo: 'd/e', added: 0, removed: 0 },
      { path: 'f', kind: 'add', added: 1, removed: 0 },
    ]);
    expect(result.summary).toBe(
      'Updated a (+2 -1)\nDeleted b (+0 -2)\nUpdated c and moved it to d/e (+0 -0)\nAdded f (+1 -0)',
    );
    expect(result.stdout).toBe('Success. Updated the following files:\nM a\nD b\nM d/e\nA f\n');
  });

  it('counts the lines that an added file replaces', async () => {
    const root = newFolder({ a: '1\n2\n3' });
    expect((await applyPatch(wrap('*** Add File: a', '+x'), { root })).changes).toEqual([
      { path: 'a', kind: 'add', added: 1, removed: 3 },
    ]);
  });

  it('of a failure contains data for the script that catches it', async () => {
    const root = newFolder({ a: '1\n' });
    const error = await refusal(() =>
      applyPatch(wrap('*** Update File: a', '@@', '-1', '+2', '@@', '-x', '+y'), { root }),
    );
    expect(error.data).toEqual({ reason: 'no_match', path: 'a', hunk: 2, patchLine: 6, changes: [] });
  });
});

describe('before a patch is applied', () => {
  const diff = 'diff --git a/a b/b\nrename from a\nrename to b\n--- a/a\n+++ b/b\n@@ -1 +1 @@\n-1\n+2\n';

  it('rules see every path of either format, and the folder of cd', () => {
    const tool = applyPatchTool(createWorkspace({ roots: newFolder({ 'sub/a': '1\n' }) }));
    expect(tool.permissions!({ patch: diff, cwd: 'sub' } as never)).toEqual(['write:sub/a', 'write:sub/b']);
    const command = `cd sub && apply_patch <<'EOF'\n${wrap('*** Delete File: a')}\nEOF`;
    expect(tool.permissions!({ patch: command } as never)).toEqual(['write:sub/a']);
    expect(tool.permissions!({ patch: 'cd sub; apply_patch' } as never)).toEqual(['write:(unreadable patch)']);
  });

  it('a user sees its effect, and nothing is written', async () => {
    const root = newFolder({ a: '1\n' });
    const tool = applyPatchTool(createWorkspace({ roots: root }));
    const before = snapshot(root);
    expect(
      await tool.preview!({ patch: diff } as never, { app: undefined, principal: undefined, threadId: undefined }),
    ).toBe(`update a -> b (+1 -1)\n\n${diff}`);
    expect(
      await tool.preview!({ patch: diff.replace('-1\n', '-x\n') } as never, {
        app: undefined,
        principal: undefined,
        threadId: undefined,
      }),
    ).toMatch(/^This patch would fail: Hunk 1/);
    expect(snapshot(root)).toEqual(before);
  });

  it('a diff that fits in several places reports them as data', async () => {
    const root = newFolder({ a: 'x\ny\nx\n' });
    const error = await refusal(() => applyPatch('--- a/a\n+++ b/a\n@@ -2 +2 @@\n-x\n+z\n', { root }));
    expect(error.data).toMatchObject({ reason: 'no_match', candidates: [1, 3] });
  });

  it('an ignored mode is reported', async () => {
    const root = newFolder({ a: '1\n' });
    const result = await applyPatch('diff --git a/a b/a\nold mode 100644\nnew mode 100755\n', { root });
    expect(result.stderr).toBe('The mode 100755 of a is not set: applyPatch does not change permissions.\n');
    expect(statSync(join(root, 'a')).mode & 0o111).toBe(0);
  });
});

describe('a patch that is not atomic', () => {
  it('keeps and reports the changes before the failure', async () => {
    const root = newFolder({ a: '1\n', b: '2\n' });
    const error = await refusal(() =>
      applyPatch(
        wrap(
          '*** Add File: c',
          '+c',
          '*** Delete File: a',
          '*** Update File: b',
          '@@',
          '-x',
          '+y',
          '*** Add File: d',
          '+d',
        ),
        { root, atomic: false },
      ),
    );
    expect(texts(root)).toEqual({ b: '2\n', c: 'c\n' });
    expect(error.message).toMatch(/The patch had already changed these files: c, a\.$/);
    expect((error.data['changes'] as { path: string }[]).map(({ path }) => path)).toEqual(['c', 'a']);
  });

  it('changes nothing if any of its paths is rejected', async () => {
    const root = newFolder({ a: '1\n' });
    symlinkSync('/etc', join(root, 'out'));
    for (const bad of ['../x', '.git/config', 'out/x', 'a/x']) {
      const before = snapshot(root);
      await refusal(() =>
        applyPatch(wrap('*** Add File: c', '+c', `*** Add File: ${bad}`, '+x'), { root, atomic: false }),
      );
      expect(snapshot(root)).toEqual(before);
    }
  });

  it('makes all changes if none fails', async () => {
    const root = newFolder({ a: '1\n' });
    await applyPatch(wrap('*** Update File: a', '@@', '-1', '+2', '*** Update File: a', '@@', '-2', '+3'), {
      root,
      atomic: false,
    });
    expect(texts(root)).toEqual({ a: '3\n' });
  });
});

describe('files on the disk', () => {
  it('keep their permissions when they are updated or moved', async () => {
    const root = newFolder({ 'run.sh': 'a\n', 'tool.sh': 'b\n' });
    chmodSync(join(root, 'run.sh'), 0o755);
    chmodSync(join(root, 'tool.sh'), 0o700);
    await applyPatch(
      wrap(
        '*** Update File: run.sh',
        '@@',
        '-a',
        '+b',
        '*** Update File: tool.sh',
        '*** Move to: bin/tool.sh',
        '@@',
        '-b',
        '+c',
      ),
      { root },
    );
    expect(statSync(join(root, 'run.sh')).mode & 0o777).toBe(0o755);
    expect(statSync(join(root, 'bin/tool.sh')).mode & 0o777).toBe(0o700);
  });

  it('that are not UTF-8 are not patched', async () => {
    const root = newFolder({ a: Buffer.from('caf\xe9\nx\n', 'latin1') });
    expect((await refusal(() => applyPatch(wrap('*** Update File: a', '@@', '-x', '+y'), { root }))).message).toContain(
      'not valid UTF-8',
    );
  });

  it('are patched through a link inside; a link is deleted as a link', async () => {
    const root = newFolder({ 'real.txt': '1\n', outside: '' });
    symlinkSync('real.txt', join(root, 'link'));
    symlinkSync('/etc/passwd', join(root, 'out'));
    const result = await applyPatch(wrap('*** Update File: link', '@@', '-1', '+2', '*** Delete File: out'), { root });
    expect(result.changes.map(({ path }) => path)).toEqual(['real.txt', 'out']);
    expect(snapshot(root)['link']).toBe('link real.txt');
    expect(texts(root)['real.txt']).toBe('2\n');
    expect(Object.keys(snapshot(root))).not.toContain('out');
    await applyPatch(wrap('*** Delete File: link'), { root });
    expect(Object.keys(snapshot(root)).sort()).toEqual(['outside', 'real.txt']);
  });

  it('are neither read nor written through a link to the outside', async () => {
    const parent = newFolder({ 'outside/secret': 'secret line\n', 'inside/x': '' });
    const root = join(parent, 'inside');
    symlinkSync('../outside/secret', join(root, 'link'));
    symlinkSync('../outside', join(root, 'folder'));
    linkSync(join(parent, 'outside/secret'), join(root, 'hard'));
    const before = snapshot(parent);
    for (const path of ['link', 'folder/secret', 'hard']) {
      const error = await refusal(() => applyPatch(wrap(`*** Update File: ${path}`, '@@', '-secret', '+x'), { root }));
      expect(error.message).not.toContain('secret line');
      expect(['link_outside', 'hard_link']).toContain(error.data['reason']);
    }
    expect(snapshot(parent)).toEqual(before);
  });

  it('are changed by concurrent patches one after the other', async () => {
    const root = newFolder({ a: Array.from({ length: 20 }, (_, index) => `line ${index}\n`).join('') });
    const workspace = createWorkspace({ roots: root });
    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        applyPatchIn(workspace, { patch: wrap('*** Update File: a', '@@', `-line ${index}`, `+changed ${index}`) }),
      ),
    );
    expect(texts(root)['a']).toBe(Array.from({ length: 20 }, (_, index) => `changed ${index}\n`).join(''));
  });

  it('have paths relative to cwd', async () => {
    const root = newFolder({ 'sub/a': '1\n' });
    await applyPatch(wrap('*** Update File: a', '@@', '-1', '+2'), { root, cwd: 'sub' });
    expect(texts(root)).toEqual({ 'sub/a': '2\n' });
    expect((await refusal(() => applyPatch(wrap('*** Add File: a', '+2'), { root, cwd: '..' }))).data['reason']).toBe(
      'outside',
    );
  });
});

describe('a commit', () => {
  it('that fails halfway restores everything and leaves no temporary file', async () => {
    const root = newFolder({ a: 'old a\n', b: 'old b\n', c: 'old c\n' });
    const workspace = createWorkspace({ roots: root });
    const target = (path: string) => findWriteTarget(workspace, resolvePath(workspace, path));
    const targets = [await target('a'), await target('new/d'), await target('b'), await target('c')];
    const before = snapshot(root);
    // The last change finds a different file from the planned one, after the others were staged.
    const changes = targets.map((found, index) => ({
      target: index === 3 ? { ...found, existing: undefined } : found,
      bytes: index === 2 ? undefined : Buffer.from('new\n'),
    }));
    expect((await refusal(() => commitChanges(workspace, changes))).data['reason']).toBe('changed');
    expect(snapshot(root)).toEqual(before);
  });

  it('that fails while it switches files restores everything', async () => {
    const root = newFolder({ a: 'old a\n', b: 'old b\n' });
    const workspace = createWorkspace({ roots: root });
    const target = (path: string) => findWriteTarget(workspace, resolvePath(workspace, path));
    const [a, b, late] = [await target('a'), await target('b'), await target('late')];
    const before = snapshot(root);
    // A folder appears in the last path between the staging and the renames.
    const bytes = Buffer.from('new\n');
    const appearing = {
      target: {
        ...late,
        get existing() {
          mkdirSync(join(root, 'late'), { recursive: true });
          return undefined;
        },
      },
      bytes,
    };
    const error = await refusal(() =>
      commitChanges(workspace, [{ target: a, bytes }, { target: b, bytes: undefined }, appearing]),
    );
    expect(['changed', 'not_a_file']).toContain(error.data['reason']);
    const { late: folder, ...rest } = snapshot(root);
    expect(folder).toMatch(/^folder/);
    expect(rest).toEqual(before);
  });

  it('rejects a file that another program changed after it was read', async () => {
    const root = newFolder({ a: '1\n' });
    const workspace = createWorkspace({ roots: root });
    const target = await findWriteTarget(workspace, resolvePath(workspace, 'a'));
    writeFileSync(join(root, 'a'), 'changed by a person\n');
    expect(
      (await refusal(() => commitChanges(workspace, [{ target, bytes: Buffer.from('2\n') }]))).data['reason'],
    ).toBe('changed');
    expect(readFileSync(join(root, 'a'), 'utf8')).toBe('changed by a person\n');
  });

  it('rejects a folder that was replaced by a link to another one', async () => {
    const root = newFolder({ 'a/x': '1', 'b/y': '2' });
    const workspace = createWorkspace({ roots: root });
    const target = await findWriteTarget(workspace, resolvePath(workspace, 'a/new'));
    renameSync(join(root, 'a'), join(root, 'c'));
    symlinkSync('b', join(root, 'a'));
    const before = snapshot(root);
    const error = await refusal(() => commitChanges(workspace, [{ target, bytes: Buffer.from('2') }]));
    expect(error.data['reason']).toBe('changed');
    expect(snapshot(root)).toEqual(before);
  });

  it('does nothing after an abort', async () => {
    const root = newFolder({ a: '1\n' });
    const workspace = createWorkspace({ roots: root });
    const before = snapshot(root);
    await refusal(() => writeFile(workspace, { path: 'a', content: '2' }, { signal: AbortSignal.abort() }));
    await refusal(() => applyPatch(wrap('*** Add File: b', '+1'), { root, signal: AbortSignal.abort() }));
    expect(snapshot(root)).toEqual(before);
  });
});

describe('any files and edits', () => {
  const line = fc.constantFrom('', 'a', 'b', '  a', 'return x;', '}', '@@', '*** End Patch', '+x', '-x', 'é😀');
  const lines = fc.array(line, { maxLength: 14 });

  it('a patch from a difference gives exactly the edited file', async () => {
    await fc.assert(
      fc.asyncProperty(
        lines,
        lines,
        fc.constantFrom('\n', '\r\n'),
        fc.boolean(),
        fc.nat(3),
        async (oldLines, newLines, end, finalEnd, context) => {
          const encode = (texts: string[]): string => texts.join(end) + (finalEnd && texts.length > 0 ? end : '');
          const [before, after] = [encode(oldLines), encode(newLines)];
          // A file without a final line end cannot end with an empty line; a single line does not show its end.
          fc.pre(finalEnd || oldLines.length > 1 || end === '\n');
          fc.pre(
            finalEnd ? oldLines.length > 0 : oldLines.at(-1) !== '' && newLines.at(-1) !== '' && oldLines.length > 0,
          );
          const hunk = wholeFileHunk(oldLines, newLines, context);
          fc.pre(hunk !== undefined);
          const root = newFolder({ 'a.txt': before });
          await applyPatch(wrap('*** Update File: a.txt', ...hunk!), { root });
          expect(texts(root)).toEqual({ 'a.txt': after });
        },
      ),
      { numRuns: 300 },
    );
  });

  it('a random patch either applies or leaves the folder bit-identical', async () => {
    const operation = fc.oneof(
      fc
        .tuple(fc.constantFrom('a', 'b', 'c/d', '../x', '.git/x', 'c'), lines)
        .map(([path, added]) => [`*** Add File: ${path}`, ...added.map((text) => `+${text}`)]),
      fc.constantFrom('a', 'b', 'none', 'c').map((path) => [`*** Delete File: ${path}`]),
      fc
        .tuple(
          fc.constantFrom('a', 'b', 'none'),
          fc.option(fc.constantFrom('m', 'b', 'c/n', '/x')),
          fc.array(fc.tuple(fc.constantFrom('+', '-', ' '), line), { maxLength: 5 }),
        )
        .map(([path, move, body]) => [
          `*** Update File: ${path}`,
          ...(move ? [`*** Move to: ${move}`] : []),
          '@@',
          ...body.map(([sign, text]) => sign + text),
        ]),
    );
    let applied = 0;
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { minLength: 1, maxLength: 4 }), async (operations) => {
        const root = newFolder({ a: 'a\nb\n\n}\n', b: 'return x;\r\na', 'c/e': '' });
        const before = snapshot(root);
        const patch = wrap(...operations.flat());
        try {
          await applyPatch(patch, { root });
          applied += 1;
        } catch (error) {
          expect(error).toBeInstanceOf(ToolCallError);
          expect(snapshot(root)).toEqual(before);
          refused += 1;
        }
        expect(Object.keys(snapshot(root)).filter((path) => path.includes('.toolscript-'))).toEqual([]);
      }),
      { numRuns: 300 },
    );
    expect(applied).toBeGreaterThan(20);
    expect(refused).toBeGreaterThan(20);
  });

  it('the parser accepts any text or rejects it with a clear error', () => {
    const piece = fc.constantFrom(
      '*** Begin Patch',
      '*** End Patch',
      '*** Update File: a',
      '*** Add File: b',
      '*** Move to: c',
      '@@',
      '@@ x',
      '+x',
      '-y',
      ' z',
      '',
      '*** End of File',
      '<<EOF',
      'EOF',
      '```',
      'apply_patch <<EOF',
      '---',
      '\0',
      '\u{1F600}',
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(piece, fc.string()), { maxLength: 12 }), (pieces) => {
        try {
          expect(parsePatch(pieces.join('\n')).operations.length).toBeGreaterThan(0);
        } catch (error) {
          expect(error).toBeInstanceOf(ToolCallError);
        }
      }),
      { numRuns: 3000, examples: [[['*** Begin Patch', '*** Add File: b', '+x', '*** End Patch']]] },
    );
  });
});

it('a patch whose hunks take too long to find is rejected', async () => {
  const first = Array.from({ length: 1_000 }, (_, index) => `first ${index}`);
  const root = newFolder({ a: first.map((text) => `${text}\n`).join('') + 'same\n'.repeat(1_000_000) });
  // Its number is wrong, so each hunk must be found in one place of the whole rest.
  const hunks = first.map((text) => `@@ -9 +9 @@\n-${text}\n+x\n`).join('');
  const error = await refusal(() => applyPatch(`--- a/a\n+++ b/a\n${hunks}`, { root }));
  expect(error.data['reason']).toBe('too_large');
});

/** One hunk from the first different line to the last, with some lines around it for its position. */
function wholeFileHunk(
  oldLines: readonly string[],
  newLines: readonly string[],
  context: number,
): string[] | undefined {
  let start = 0;
  while (start < oldLines.length && start < newLines.length && oldLines[start] === newLines[start]) start += 1;
  let tail = 0;
  while (
    tail < oldLines.length - start &&
    tail < newLines.length - start &&
    oldLines.at(-1 - tail) === newLines.at(-1 - tail)
  )
    tail += 1;
  const removed = oldLines.slice(start, oldLines.length - tail);
  const added = newLines.slice(start, newLines.length - tail);
  if (removed.length + added.length === 0) return undefined;
  const before = oldLines.slice(Math.max(0, start - context), start);
  const after = oldLines.slice(oldLines.length - tail, oldLines.length - tail + context);
  const wanted = [...before, ...removed, ...after];
  // The first place where these lines occur must be the intended one, as in a patch that is not ambiguous.
  const first = oldLines.findIndex((_, index) => wanted.every((text, offset) => oldLines[index + offset] === text));
  if (wanted.length === 0 || first !== start - before.length) return undefined;
  return [
    '@@',
    ...before.map((text) => ` ${text}`),
    ...removed.map((text) => `-${text}`),
    ...added.map((text) => `+${text}`),
    ...after.map((text) => ` ${text}`),
  ];
}
