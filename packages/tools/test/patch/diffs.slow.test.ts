import { spawnSync } from 'node:child_process';
import { createTwoFilesPatch } from 'diff';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { applyPatch } from '#tools/patch/apply-patch.js';
import { tries } from '@toolscript/testkit/some-cases';
import { refusal, snapshot, texts } from '../support/temporary-folder.js';
import { newFolder, put } from '@toolscript/testkit/folder';

/** Ordinary lines, and lines that look like those of a diff. */
const ORDINARY = [
  '',
  ' ',
  '}',
  '  return x;',
  'é😀',
  '\ttab ',
  '\r',
  'a\rb',
  '*** End Patch',
  'Index: x',
  '\\ No newline',
  '-- x',
  '++ y',
  '--- a',
  '+++ b',
  '@@ -1 +1 @@',
  'diff --git a/x b/x',
];

/** Lines with their own ends; the last may have none. */
const content = fc
  .record({
    lines: fc.array(fc.record({ text: fc.constantFrom(...ORDINARY), crlf: fc.integer({ min: 0, max: 9 }) }), {
      maxLength: 25,
    }),
    open: fc.boolean(),
  })
  .map(({ lines, open }) => {
    const text = lines.map((line) => line.text + (line.crlf === 0 ? '\r\n' : '\n')).join('');
    return open ? text.replace(/\n$/, '') : text;
  });

/** One line of a file and the lines that replace it: none, one or two. */
interface EditedLine {
  readonly old: string;
  readonly now: readonly string[];
}

/** A file in which all lines differ, with a few edits. */
const edited = fc
  .record({
    length: fc.integer({ min: 12, max: 60 }),
    edits: fc.array(fc.record({ at: fc.nat(1000), kind: fc.constantFrom('replace', 'insert', 'remove') }), {
      minLength: 1,
      maxLength: 5,
    }),
    end: fc.constantFrom('\n', '\r\n'),
  })
  .map(({ length, edits, end }) => {
    const lines: EditedLine[] = Array.from({ length }, (_, index) => {
      const old = `line ${index} ${(index * 7919) % 997}`;
      return { old, now: [old] };
    });
    for (const [number, { at, kind }] of edits.entries()) {
      const { old } = lines[at % length]!;
      const now = { replace: [`new ${number}`], insert: [old, `more ${number}`], remove: [] }[kind];
      lines[at % length] = { old, now };
    }
    return { lines, end, before: write(lines, 'old', end), after: write(lines, 'now', end) };
  });

function write(lines: readonly EditedLine[], side: 'old' | 'now', end: string): string {
  return lines
    .flatMap((line) => line[side])
    .map((line) => line + end)
    .join('');
}

/** Three changed lines above, below, and at those of the places that are far from each edit. */
function withNoise(lines: readonly EditedLine[], places: readonly number[]): { noisy: EditedLine[]; between: number } {
  const isEdited = ({ old, now }: EditedLine): boolean => now.length !== 1 || now[0] !== old;
  const free = places.filter(
    (place) => place < lines.length && !lines.slice(Math.max(place - 5, 0), place + 5).some(isEdited),
  );
  const noisy = [...noise('above'), ...lines, ...noise('below')];
  for (const place of [...new Set(free)].sort((one, other) => other - one))
    noisy.splice(place + 3, 0, ...noise(`at ${place}`));
  return { noisy, between: free.length };
}

function noise(name: string): EditedLine[] {
  return [1, 2, 3].map((number) => ({ old: `noise ${name} ${number}`, now: [`noise ${name} ${number}`] }));
}

type MakeDiff = (before: string, after: string) => string;

/** Git's diff of two files; in the folder of the patch, the first file has the first name. */
const byGit =
  (context: number): MakeDiff =>
  (before, after) => {
    const folder = newFolder({ 'old/f.txt': before, 'new/f.txt': after });
    const made = spawnSync(
      'git',
      ['diff', '--no-index', '--no-color', '--no-ext-diff', '--text', `-U${context}`, 'old/f.txt', 'new/f.txt'],
      {
        cwd: folder,
        encoding: 'utf8',
        env: { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null' },
      },
    );
    if (made.error) throw made.error;
    return made.stdout;
  };

const byJsdiff =
  (context: number): MakeDiff =>
  (before, after) =>
    createTwoFilesPatch('old/f.txt', 'new/f.txt', before, after, undefined, undefined, { context });

async function patched(before: string, patch: string): Promise<string | undefined> {
  const root = newFolder({ 'old/f.txt': before });
  await applyPatch(patch, { root });
  return texts(root)['old/f.txt'];
}

const DIFFS = [
  ['git', byGit(3), tries(120, 40)],
  ['git with one line of context', byGit(1), tries(60, 40)],
  ['jsdiff', byJsdiff(3), tries(400, 40)],
  ['jsdiff with four lines of context', byJsdiff(4), tries(200, 40)],
] as const;

describe('a diff of random files', () => {
  it.each(DIFFS)('made by %s gives exactly the edited file', async (_name, diff, numRuns) => {
    let applied = 0;
    await fc.assert(
      fc.asyncProperty(content, content, async (before, after) => {
        fc.pre(before !== after);
        expect(await patched(before, diff(before, after))).toBe(after);
        applied += 1;
      }),
      { numRuns },
    );
    expect(applied).toBe(numRuns);
  });

  it.each([
    ['git', byGit(0), tries(60, 40)],
    ['jsdiff', byJsdiff(0), tries(200, 40)],
  ] as const)('made by %s without context gives exactly the edited file', async (_name, diff, numRuns) => {
    await fc.assert(
      fc.asyncProperty(edited, async ({ before, after }) => {
        fc.pre(before !== after);
        expect(await patched(before, diff(before, after))).toBe(after);
      }),
      { numRuns },
    );
  });
});

describe('a diff of random edits', () => {
  it.each(DIFFS)('made by %s applies even if other lines were inserted elsewhere', async (_name, diff, numRuns) => {
    let between = 0;
    await fc.assert(
      fc.asyncProperty(edited, fc.array(fc.nat(60), { maxLength: 4 }), async (file, places) => {
        const { lines, before, after, end } = file;
        fc.pre(before !== after);
        const { noisy, between: inserted } = withNoise(lines, places);
        between += inserted;
        expect(await patched(write(noisy, 'old', end), diff(before, after))).toBe(write(noisy, 'now', end));
      }),
      { numRuns },
    );
    expect(between).toBeGreaterThan(10);
  });

  it('that fails in any hunk leaves the folder bit-identical', async () => {
    const numRuns = tries(200, 40);
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(edited, edited, fc.boolean(), async (one, other, atOnce) => {
        fc.pre(one.before !== one.after && other.before !== other.after);
        const root = newFolder({ a: one.before, b: other.before.replaceAll(/line (\d+)/g, 'lime $1') });
        put(root, 'deep/c', 'c');
        const before = snapshot(root);
        const section = (name: string, { before: old, after }: typeof one): string =>
          createTwoFilesPatch(name, name, old, after);
        const parts = [section('a', one), section('b', other)];
        const patch = (atOnce ? parts : parts.toReversed()).join('');
        // A hunk with only additions at one end of the file has context too, so nothing of `b` can match.
        await refusal(() => applyPatch(patch, { root }));
        refused += 1;
        expect(snapshot(root)).toEqual(before);
      }),
      { numRuns },
    );
    expect(refused).toBe(numRuns);
  });
});
