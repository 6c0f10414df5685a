import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Tool } from '@toolscript/core/protocol';
import { beforeAll, describe, expect, it } from 'vitest';
import { codingTools } from '@toolscript/tools';
import { MAX_STALL_MS, shortestStall } from '@toolscript/testkit/stall';
import { newFolder, put } from '@toolscript/testkit/folder';

const MEGABYTE = 1024 * 1024;
/** The tests use more work in CI; a fault also shows in a part of the work. */
const IS_CI = process.env['CI'] !== undefined;
const GLOBS = IS_CI ? 100 : 5;
const SHORT_LINES = IS_CI ? 400_000 : 120_000;
const HUNKS = IS_CI ? 8_000 : 4_000;
const WIDE = IS_CI ? 20_000 : 6_000;
const LINE_ENDS = (IS_CI ? 9 : 3) * 1024 * 1024;
const MANY_GLOBS = Array.from({ length: GLOBS }, (_, index) => `${'{a,b}'.repeat(6)}*${index}*a*b*c`);
const SLOW_GLOBS = Array.from({ length: GLOBS }, () => `**/${'*a'.repeat(40)}b/**/${'*a'.repeat(40)}b`);

let folder: string;
let tools: ReadonlyMap<string, Tool>;

/** A million lines that differ only in their last characters. */
function similarLines(count: number, length: number): string {
  return Array.from({ length: count }, (_, index) => `${'x'.repeat(length - 6)}${index}\n`).join('');
}

beforeAll(() => {
  folder = newFolder({
    'line-ends.txt': '\n'.repeat(LINE_ENDS),
    'one-line.txt': 'a'.repeat(9 * MEGABYTE),
    'blanks.txt': ' '.repeat(9 * MEGABYTE),
    'similar.txt': similarLines(5_000, 1_900),
    'short.txt': similarLines(SHORT_LINES, 9),
    'accents.txt': 'é\n'.repeat(LINE_ENDS / 3),
    'nested.txt': Array.from({ length: 5_000 }, (_, index) => `${' '.repeat(index % 2_000)}}`).join('\n'),
    'image.jpg': Buffer.concat([Buffer.from([0xff, 0xd8, 0xff]), Buffer.alloc(5 * MEGABYTE - 3, 0xff)]),
    'image.gif': Buffer.concat([Buffer.from('GIF89a'), Buffer.alloc(5 * MEGABYTE - 6, 1)]),
  });
  for (let at = 0; at < 100; at += 1) {
    const name = `${'a'.repeat(60)}-${at}`;
    mkdirSync(join(folder, 'tree', name, 'a'.repeat(60)), { recursive: true });
    for (let file = 0; file < 100; file += 1)
      writeFileSync(join(folder, 'tree', name, 'a'.repeat(60), `${'a'.repeat(60)}${file}`), 'a\n');
  }
  mkdirSync(join(folder, 'wide'));
  for (let at = 0; at < WIDE; at += 1) writeFileSync(join(folder, 'wide', `file-${at}`), '');
  put(folder, 'deep/x', '');
  tools = new Map(codingTools({ roots: folder, exec: false }).map((tool) => [tool.name, tool]));
});

/** All parts of a harness's work with a call: its permissions, its preview, and the call. */
async function call(name: string, input: object, signal = new AbortController().signal): Promise<unknown> {
  const tool = tools.get(name)!;
  const valid = tool.validateInput(input);
  if (!valid.ok) throw new TypeError(`${name} rejects the arguments of this test; correct them`);
  tool.permissions?.(valid.value as never);
  await tool.preview?.(valid.value as never, { app: undefined, principal: undefined, threadId: undefined });
  try {
    return await tool.execute(valid.value as never, { signal } as never);
  } catch (error) {
    if ((error as { code?: string }).code !== 'ToolExecutionError') throw error;
    return error;
  }
}

const update = (path: string, ...lines: (string | string[])[]): object => ({
  patch: ['*** Begin Patch', `*** Update File: ${path}`, '@@', ...lines.flat(), '*** End Patch'].join('\n'),
  dryRun: true,
});
const times = (count: number, line: (index: number) => string): string[] =>
  Array.from({ length: count }, (_, at) => line(at));
const inHeredoc = (word: string, line: string): string =>
  [
    `apply_patch <<${word}`,
    '*** Begin Patch',
    '*** Add File: n',
    ...times(9_000, () => `+${line}`),
    '*** End Patch',
    'EOF',
  ].join('\n');
const similar = (count: number): string[] =>
  times(count, (index) => `-${'x'.repeat(1_894)}${index === count - 1 ? 'other' : index}`);

const ATTACKS: readonly [string, string, object][] = [
  ['readFile', 'a file of line ends', { path: 'line-ends.txt', limit: 100_000 }],
  ['readFile', 'a block among line ends', { path: 'line-ends.txt', mode: 'indentation', anchorLine: LINE_ENDS / 2 }],
  [
    'readFile',
    'a block of short lines',
    { path: 'short.txt', mode: 'indentation', includeSiblings: true, limit: 100_000 },
  ],
  ['readFile', 'one long line', { path: 'one-line.txt', mode: 'indentation' }],
  ['readFile', 'one long line of blanks', { path: 'blanks.txt', mode: 'indentation' }],
  ['readFile', 'many closing brackets', { path: 'nested.txt', mode: 'indentation', anchorLine: 5_000 }],
  ['writeFile', 'a large text', { path: 'new/large.txt', content: 'é\n'.repeat(300_000) }],
  ['listDir', 'a wide folder', { path: 'wide', offset: WIDE - 1_000, limit: 2_000 }],
  ['listDir', 'a large tree', { path: '.', offset: WIDE + 5_000, limit: 2_000, depth: 50 }],
  ['grepFiles', 'many globs to leave out', { pattern: 'a', path: 'tree', exclude: MANY_GLOBS, limit: 2_000 }],
  ['grepFiles', 'slow globs to leave out', { pattern: 'a', path: 'tree', exclude: SLOW_GLOBS, limit: 2_000 }],
  ['grepFiles', 'a slow glob to search', { pattern: 'a', path: 'tree', include: SLOW_GLOBS[0], limit: 2_000 }],
  ['grepFiles', 'every line of a file', { pattern: '.', path: 'short.txt', matches: true, context: 20, limit: 2_000 }],
  ['grepFiles', 'line ends across lines', { pattern: '\\n+', path: 'line-ends.txt', matches: true, multiline: true }],
  ['fileSearch', 'many globs to leave out', { pattern: 'a', exclude: MANY_GLOBS, limit: 2_000 }],
  ['fileSearch', 'slow globs to leave out', { pattern: '**', exclude: SLOW_GLOBS, limit: 2_000 }],
  ['fileSearch', 'a long fuzzy pattern', { pattern: 'a'.repeat(300), limit: 2_000 }],
  ['fileSearch', 'a pattern of many words', { pattern: 'a '.repeat(400), limit: 2_000 }],
  ['fileSearch', 'one letter', { pattern: 'a', limit: 2_000 }],
  [
    'applyPatch',
    'a patch of line ends',
    update(
      'line-ends.txt',
      times(45_000, () => ' '),
      '-x',
    ),
  ],
  ['applyPatch', 'a change among line ends', update('line-ends.txt', '-', '+x')],
  [
    'applyPatch',
    'many hunks among line ends',
    update(
      'line-ends.txt',
      times(9_000, () => '-\n+x\n@@'),
      '-',
    ),
  ],
  ['applyPatch', 'similar long lines', update('similar.txt', similar(450))],
  [
    'applyPatch',
    'similar short lines',
    update(
      'short.txt',
      times(25_000, () => ' xxx1'),
      '-y',
    ),
  ],
  ['applyPatch', 'lines that are alike', update('short.txt', '-xxxyy', '+y')],
  [
    'applyPatch',
    'lines that are there under accents',
    update(
      'accents.txt',
      times(45_000, () => ' e'),
      '-é',
    ),
  ],
  [
    'applyPatch',
    'a large new file',
    {
      patch: ['*** Begin Patch', '*** Add File: n', ...times(45_000, () => '+'), '*** End Patch'].join('\n'),
      dryRun: true,
    },
  ],
  [
    'applyPatch',
    'many files in deep folders',
    {
      patch: [
        '*** Begin Patch',
        ...times(1_000, (at) => `*** Add File: ${'q/'.repeat(48)}${at}\n+x`),
        '*** End Patch',
      ].join('\n'),
      dryRun: true,
    },
  ],
  [
    'applyPatch',
    'a diff with many hunks',
    { patch: `--- a/short.txt\n+++ b/short.txt\n${'@@ -1 +1 @@\n-x\n+y\n'.repeat(HUNKS)}`, dryRun: true },
  ],
  [
    'applyPatch',
    'a diff that fits in many places',
    { patch: `--- a/line-ends.txt\n+++ b/line-ends.txt\n@@ -9999999,2 +9999999,2 @@\n \n-\n+x\n`, dryRun: true },
  ],
  ['applyPatch', 'blank lines', { patch: '\n'.repeat(45_000) }],
  ['applyPatch', 'blank lines in a diff', { patch: `--- a/x\n+++ b/x\n@@ -1 +1 @@\n${'\n'.repeat(45_000)}x` }],
  [
    'applyPatch',
    'a name of many escapes',
    { patch: `--- "a/${'\\\\'.repeat(400_000)}"\n+++ "b/x"\n@@ -1 +1 @@\n-x\n+y\n` },
  ],
  ['applyPatch', 'a command with many expansions', { patch: inHeredoc('EOF', '$(a "'.repeat(20)), dryRun: true }],
  ['applyPatch', 'a command with a quoted heredoc', { patch: inHeredoc("'EOF'", 'x'.repeat(100)), dryRun: true }],
  ['applyPatch', 'a command that is not closed', { patch: `apply_patch ${'if a; then '.repeat(50_000)}` }],
  [
    'applyPatch',
    'a folder of many words',
    { patch: `cd ${'"a'.repeat(250_000)} && apply_patch <<'EOF'\n*** Begin Patch\n*** End Patch\nEOF` },
  ],
  ['viewImage', 'an image of fill bytes', { path: 'image.jpg' }],
  ['viewImage', 'a large image', { path: 'image.gif' }],
];

// This is about stalls whose length a script can choose; they took from 1 to 40 seconds.
describe('the host continues while a tool works', () => {
  it.each(ATTACKS)('%s: %s', async (name, _, input) => {
    const stall = await shortestStall(() => call(name, input));
    if (process.env['SHOW_STALLS']) console.log(name, _, Math.round(stall));
    expect(stall).toBeLessThan(MAX_STALL_MS);
  });
});

/** Much shorter than the work; the best of a few attempts counts. */
const MAX_ABORT_MS = 500;
const LONG_ATTACKS = new Set([
  'a file of line ends',
  'a large tree',
  'slow globs to leave out',
  'a long fuzzy pattern',
  'similar short lines',
  'many files in deep folders',
]);

describe('an abort takes effect while a tool works', () => {
  // One of each kind of work; all of them take longer than the 20 ms after which they are aborted.
  const LONG = ATTACKS.filter(([, attack]) => LONG_ATTACKS.has(attack));
  const abortedWork = async (name: string, input: object): Promise<number> => {
    const abort = new AbortController();
    setTimeout(() => abort.abort(), 20);
    let abortedAt = Number.POSITIVE_INFINITY;
    abort.signal.addEventListener('abort', () => (abortedAt = performance.now()));
    const tool = tools.get(name)!;
    const valid = tool.validateInput(input);
    if (!valid.ok) throw new TypeError('unknown arguments');
    await (tool.execute(valid.value as never, { signal: abort.signal } as never) as Promise<unknown>).catch(
      () => undefined,
    );
    return performance.now() - abortedAt;
  };

  it.each(LONG)('%s: %s', async (name, _, input) => {
    let shortest = Number.POSITIVE_INFINITY;
    for (let attempt = 0; attempt < 10 && shortest >= MAX_ABORT_MS; attempt += 1)
      shortest = Math.min(shortest, await abortedWork(name, input));
    expect(shortest).toBeLessThan(MAX_ABORT_MS);
  });
});
