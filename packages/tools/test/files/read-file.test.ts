import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { blockAround, limitAround } from '#tools/files/indentation.js';
import { readFile } from '#tools/files/read-file.js';
import { splitLines, TextLines } from '#tools/files/text.js';
import { WorkSlices } from '#tools/work-slices.js';
import { createWorkspace } from '#tools/files/workspace.js';
import { tries } from '@toolscript/testkit/some-cases';
import { refusal } from '../support/temporary-folder.js';
import { newFolder } from '@toolscript/testkit/folder';

function workspaceWith(files: Record<string, string | Uint8Array>) {
  return createWorkspace({ roots: newFolder(files) });
}

describe('slice mode', () => {
  it('numbers lines from 1 and returns them as text too', async () => {
    const workspace = workspaceWith({ 'a.txt': 'one\ntwo\nthree\n' });
    expect(await readFile(workspace, { path: 'a.txt' })).toEqual({
      success: true,
      path: 'a.txt',
      content: 'L1: one\nL2: two\nL3: three',
      lines: ['one', 'two', 'three'],
      firstLine: 1,
      totalLines: 3,
      truncated: false,
      lossy: false,
    });
  });

  it('returns limit lines from offset and reports whether more follow', async () => {
    const workspace = workspaceWith({ 'a.txt': 'one\ntwo\nthree' });
    expect(await readFile(workspace, { path: 'a.txt', offset: 2, limit: 1 })).toMatchObject({
      content: 'L2: two',
      firstLine: 2,
      truncated: true,
    });
    expect(await readFile(workspace, { path: 'a.txt', offset: 2, limit: 2 })).toMatchObject({
      lines: ['two', 'three'],
      truncated: false,
    });
  });

  it('rejects an offset beyond the end and names the length', async () => {
    const workspace = workspaceWith({ 'a.txt': 'one\n', 'empty.txt': '' });
    const error = await refusal(() => readFile(workspace, { path: 'a.txt', offset: 2 }));
    expect(error.message).toBe("'a.txt' has 1 line; offset 2 is beyond its end. Read an earlier line.");
    expect(await readFile(workspace, { path: 'empty.txt' })).toMatchObject({
      content: '',
      lines: [],
      totalLines: 0,
      truncated: false,
    });
  });

  it('drops line ends of both kinds and a byte order mark', async () => {
    const workspace = workspaceWith({ 'a.txt': '\uFEFFone\r\ntwo\r\n\r\nfour' });
    expect(await readFile(workspace, { path: 'a.txt' })).toMatchObject({
      lines: ['one', 'two', '', 'four'],
      totalLines: 4,
      lossy: false,
    });
  });

  it('truncates long lines only in content, never inside a character', async () => {
    const long = `${'x'.repeat(499)}😀${'y'.repeat(600)}`;
    const result = await readFile(workspaceWith({ 'a.txt': long }), { path: 'a.txt' });
    expect(result.lines).toEqual([long]);
    expect(result.content).toBe(`L1: ${'x'.repeat(499)}`);
    expect(result.truncated).toBe(false);
  });

  it('stays small enough for a result and reports missing lines', async () => {
    const workspace = workspaceWith({
      'a.txt': `${'\u0001'.repeat(1000)}\n`.repeat(2000),
      'one-line.txt': 'z'.repeat(3_000_000),
    });
    const result = await readFile(workspace, { path: 'a.txt' });
    expect(Buffer.byteLength(JSON.stringify(result))).toBeLessThan(1024 * 1024);
    expect(result).toMatchObject({ truncated: true, totalLines: 2000 });
    const next = await readFile(workspace, { path: 'a.txt', offset: result.firstLine + result.lines.length });
    expect(next.firstLine).toBe(result.lines.length + 1);
    const line = await readFile(workspace, { path: 'one-line.txt' });
    expect(line.truncated).toBe(true);
    expect(line.lines[0]!.length).toBe(100_000);
  });

  it('rejects binary files and UTF-16, and shows stray bytes as U+FFFD', async () => {
    const workspace = workspaceWith({
      'image.png': Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0, 1, 2),
      'utf16le.txt': Uint8Array.of(0xff, 0xfe, 0x61, 0),
      'utf16be.txt': Uint8Array.of(0xfe, 0xff, 0, 0x61),
      'latin1.txt': Uint8Array.of(0x63, 0x61, 0x66, 0xe9, 0x0a),
      'replacement.txt': 'a\uFFFDb',
    });
    expect((await refusal(() => readFile(workspace, { path: 'image.png' }))).message).toBe(
      "'image.png' is a binary file, and this tool reads only text. Use a program for its format, or viewImage for an image.",
    );
    for (const path of ['utf16le.txt', 'utf16be.txt']) {
      expect((await refusal(() => readFile(workspace, { path }))).message).toContain('UTF-16');
    }
    expect(await readFile(workspace, { path: 'latin1.txt' })).toMatchObject({ lines: ['caf\uFFFD'], lossy: true });
    expect(await readFile(workspace, { path: 'replacement.txt' })).toMatchObject({ lossy: false });
  });

  it('stops when the call is aborted', async () => {
    const workspace = workspaceWith({ 'a.txt': 'x' });
    expect((await refusal(() => readFile(workspace, { path: 'a.txt' }, AbortSignal.abort()))).data['reason']).toBe(
      'aborted',
    );
  });
});

const SOURCE = `import x from 'x';

// Adds two numbers.
export function add(a, b) {
  if (a) {
    const sum = a + b;

    return sum;
  } else {
    return b;
  }
}

class Box {
  constructor() {
    this.items = [];
  }

  put(item) {
    for (const other of this.items) {
      if (other === item) return;
    }
    this.items.push(item);
  }
}
`;

const PYTHON = `import os

@decorated
def first(x):
    if x:
        return 1
    return 2

def second():
    pass
`;

const lineOf = (source: string, text: string): number =>
  source.split('\n').findIndex((line) => line.includes(text)) + 1;

describe('indentation mode', () => {
  it.each<[string, string, string, object, string, string]>([
    ['the whole outermost block by default', SOURCE, 'const sum', {}, '// Adds two numbers.', '}'],
    ['one level', SOURCE, 'const sum', { maxLevels: 1 }, '  if (a) {', '  }'],
    ['from a line of else to the whole statement', SOURCE, 'return b;', { maxLevels: 1 }, '  if (a) {', '  }'],
    ['a block from its first line', SOURCE, 'put(item)', { maxLevels: 0 }, 'class Box {', '}'],
    ['a function from its own line', SOURCE, 'export function add', {}, '// Adds two numbers.', '}'],
    [
      'without the comment above it',
      SOURCE,
      'export function add',
      { includeHeader: false },
      'export function add(a, b) {',
      '}',
    ],
    ['two levels', SOURCE, 'if (other === item)', { maxLevels: 2 }, '  put(item) {', '  }'],
    ['a block of a language without braces', PYTHON, 'return 1', {}, '@decorated', '    return 2'],
    ['the last block', PYTHON, 'pass', {}, 'def second():', '    pass'],
  ])('shows %s', async (_, source, anchor, options, first, last) => {
    const workspace = workspaceWith({ 'a.txt': source });
    const result = await readFile(workspace, {
      path: 'a.txt',
      mode: 'indentation',
      anchorLine: lineOf(source, anchor),
      ...options,
    });
    expect([result.lines[0], result.lines.at(-1)]).toEqual([first, last]);
    expect(result.truncated).toBe(false);
    expect(source.split('\n').slice(result.firstLine - 1, result.firstLine - 1 + result.lines.length)).toEqual(
      result.lines,
    );
  });

  it('shows the blocks beside it on request', async () => {
    const workspace = workspaceWith({ 'a.py': PYTHON });
    const result = await readFile(workspace, {
      path: 'a.py',
      mode: 'indentation',
      anchorLine: lineOf(PYTHON, 'pass'),
      includeSiblings: true,
    });
    expect(result.lines[0]).toBe('import os');
  });

  it('keeps the lines next to the anchor when the limit is smaller than the block', async () => {
    const workspace = workspaceWith({ 'a.ts': SOURCE });
    const result = await readFile(workspace, {
      path: 'a.ts',
      mode: 'indentation',
      anchorLine: lineOf(SOURCE, 'const sum'),
      limit: 3,
    });
    expect(result.lines).toEqual(['  if (a) {', '    const sum = a + b;', '']);
    expect(result.truncated).toBe(true);
  });

  it('rejects an anchor beyond the end', async () => {
    const workspace = workspaceWith({ 'a.ts': 'x\n' });
    expect(
      (await refusal(() => readFile(workspace, { path: 'a.ts', mode: 'indentation', anchorLine: 9 }))).message,
    ).toContain('anchorLine 9');
  });

  it('always returns a range that contains the anchor, whatever the text', async () => {
    const line = fc
      .tuple(fc.nat(6), fc.constantFrom('', '}', '{', 'x', 'end', '} else {', '// c', '@d', 'if:'))
      .map(([depth, text]) => ' '.repeat(depth) + text);
    await fc.assert(
      fc.asyncProperty(
        fc.array(line, { minLength: 1, maxLength: 40 }),
        fc.nat(),
        fc.nat(4),
        fc.boolean(),
        fc.integer({ min: 1, max: 20 }),
        async (lines, seed, maxLevels, flag, limit) => {
          const anchor = seed % lines.length;
          const range = await blockAround(lines, anchor, { maxLevels, includeSiblings: flag, includeHeader: !flag });
          expect(range.first).toBeGreaterThanOrEqual(0);
          expect(range.first).toBeLessThanOrEqual(anchor);
          expect(range.last).toBeGreaterThanOrEqual(anchor);
          expect(range.last).toBeLessThan(lines.length);
          const limited = limitAround(range, anchor, limit);
          expect(limited.last - limited.first + 1).toBe(Math.min(limit, range.last - range.first + 1));
        },
      ),
      { numRuns: tries(2000) },
    );
  });
});

it('lines equal those of the text, whatever its end, stray bytes and marks', async () => {
  const piece = fc.constantFrom('a', '', 'b c', '\r', 'é', '\n', '\r\n', '\uFEFF', '\xE2\x82', '\xFF');
  await fc.assert(
    fc.asyncProperty(fc.array(piece), async (pieces) => {
      const bytes = Buffer.concat(
        pieces.map((text) => Buffer.from(text, text.includes('\x82') || text === '\xFF' ? 'latin1' : 'utf8')),
      );
      const lines = await TextLines.of(bytes, new WorkSlices({ signal: undefined }));
      const read = Array.from({ length: lines.length }, (_, index) => lines.at(index));
      expect(read).toEqual(splitLines(new TextDecoder().decode(bytes)));
    }),
  );
});
