import { JsonTextMember } from '@toolscript/core/stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { argumentProblems } from '#web/approval/check-arguments.ts';
import { codeTokens } from '#web/view/code-tokens.ts';
import { fileGroups } from '#web/view/file-groups.ts';
import { routePath, addressRoute } from '#web/state/route.ts';
import { diffLines } from '#web/view/diff-lines.ts';
import { age, argumentSummary, count, dollars, duration, plural } from '#web/view/format.ts';
import { Highlighter } from '#web/view/highlight.ts';
import { keptLines, plainLines } from '#web/view/lines.ts';
import { blockCode, MarkdownBlocks } from '#web/view/markdown-blocks.ts';
import { safeUrl } from '#web/view/safe-url.ts';
import { imagesIn, recordTable, tablesIn } from '#web/view/table.ts';
import { visible } from '#web/view/visible.ts';
import { groupThreads } from '#web/view/thread-groups.ts';
import { tries } from '@toolscript/testkit/some-cases';

describe('a string in unfinished JSON', () => {
  it('is a beginning of the whole string after each character, and in the end all of it', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (code) => {
        const json = JSON.stringify({ before: 1, code });
        for (let length = 0; length <= json.length; length += 1) {
          const found = new JsonTextMember('code', 'any').push(json.slice(0, length));
          expect(code.startsWith(found)).toBe(true);
        }
        expect(new JsonTextMember('code', 'any').push(json)).toBe(code);
      }),
      { numRuns: tries(60) },
    );
  });
});

describe('highlighting', () => {
  it('changes no character of any source', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'a1 \n\t"\'`${}()/*=>;<'), maxLength: 80 }), (source) => {
        const lines = new Highlighter().lines(source).map((tokens) => tokens.map(({ text }) => text).join(''));
        expect(lines.join('\n')).toBe(source);
      }),
    );
  });

  it('of a source that grew is that of the whole source', () => {
    const line = fc.constantFrom(
      'const a = await tools.read({ path: `a${b}` });\n',
      'for (const part of parts) {\n',
      '}\n',
      '/* a comment\n',
      'of two lines */ f(1);\n',
      'type Row = { name: string };\n',
      "return 'done';\n",
    );
    fc.assert(
      fc.property(fc.array(line, { maxLength: 40 }), fc.integer({ min: 1, max: 50 }), (lines, step) => {
        const source = lines.join('');
        const growing = new Highlighter();
        for (let length = 0; length < source.length; length += step) growing.lines(source.slice(0, length));
        expect(growing.lines(source)).toEqual(new Highlighter().lines(source));
      }),
      { numRuns: tries(100) },
    );
  });

  it('of a long source that grows differs from that of the whole source far before its end only', () => {
    const source = `${'const a = call("b"); // c\n'.repeat(400)}const b = \`${'text ${a}\n'.repeat(1_000)}\`;\n`;
    const growing = new Highlighter();
    for (let length = 0; length < source.length; length += 1_500) growing.lines(source.slice(0, length));
    const [lines, whole] = [growing.lines(source), new Highlighter().lines(source)];
    expect(growing.hasKeptTokens).toBe(true);
    expect(lines.slice(-100)).toEqual(whole.slice(-100));
    const texts = (of: typeof lines) => of.map((tokens) => tokens.map(({ text }) => text).join(''));
    expect(texts(lines)).toEqual(texts(whole));
    expect(new Highlighter().hasKeptTokens).toBe(false);
  });

  it('keeps lines that are settled while a source grows', () => {
    const growing = new Highlighter();
    const before = growing.lines('const a = 1;\n'.repeat(1_000));
    const after = growing.lines('const a = 1;\n'.repeat(1_001));
    expect(after.slice(0, 600).every((line, index) => line === before[index])).toBe(true);
  });

  it('marks keywords, strings and comments', () => {
    const styles = new Highlighter().lines("const a = 'b'; // c")[0]!.map(({ text, style }) => [text, style]);
    expect(styles).toContainEqual(['const', 'tok-keyword']);
    expect(styles).toContainEqual(["'b'", 'tok-string']);
    expect(styles).toContainEqual(['// c', 'tok-comment']);
  });
});

describe('the lines of a text', () => {
  it('are those from before where they are the same', () => {
    const before = keptLines([], plainLines('one\ntwo\n\nfour'));
    const after = keptLines(before, plainLines('one\n2\n\nfour\nfive'));
    expect(after).toEqual(plainLines('one\n2\n\nfour\nfive'));
    expect([0, 1, 2, 3].map((index) => after[index] === before[index])).toEqual([true, false, true, true]);
  });
});

describe('blocks of Markdown', () => {
  const PARTS = ['text ', '\n', '\n\n', '```\n', '```ts\n', '~~~\n', '- item\n', '1. one\n', '  more\n', '[a]: /b\n'];
  const parts = fc.array(fc.constantFrom(...PARTS, 'x'.repeat(2_000), '🎉'.repeat(6_000)), { maxLength: 30 });
  const blocksOf = (text: string) => new MarkdownBlocks().read(text).blocks;

  it('are the text again when they are joined, and none is long', () => {
    fc.assert(
      fc.property(parts, (texts) => {
        const text = texts.join('');
        const blocks = blocksOf(text);
        expect(blocks.map((block) => block.text).join('')).toBe(text);
        for (const block of blocks) {
          expect(block.text.length).toBeLessThanOrEqual(8_000);
          expect(block.text.isWellFormed()).toBe(true);
        }
      }),
      { numRuns: tries(300) },
    );
  });

  it('are the same however the text grew, and only the last one changes', () => {
    fc.assert(
      fc.property(parts, fc.integer({ min: 1, max: 3_000 }), (texts, step) => {
        const text = texts.join('');
        const growing = new MarkdownBlocks();
        let before: readonly unknown[] = [];
        for (let length = step; length < text.length; length += step) {
          const { blocks } = growing.read(text.slice(0, length));
          expect(blocks.slice(0, before.length)).toEqual(before);
          before = blocks.slice(0, -1);
        }
        expect(growing.read(text)).toEqual(new MarkdownBlocks().read(text));
      }),
      { numRuns: tries(300) },
    );
  });

  it('are those of a text that replaces another one', () => {
    const reader = new MarkdownBlocks();
    reader.read('one\n\ntwo\n\nthree');
    expect(reader.read('four\n\nfive and six')).toEqual(new MarkdownBlocks().read('four\n\nfive and six'));
  });

  it('never end inside code or inside an item of a list', () => {
    const code = '```\na\n\nb\n```\n';
    const item = '\n1. one\n\n    more of it\n\n   ```ts\n   code\n\n   ```\n\n2. two\n\n';
    expect(blocksOf(`before it\n\n${code}${item}the end of it`).map(({ text }) => text)).toEqual([
      'before it\n\n',
      code,
      item,
      'the end of it',
    ]);
  });

  it('are code without the lines around it, also where the code is divided', () => {
    const lines = 'const a = 1;\n'.repeat(1_000);
    const blocks = blocksOf(`some words:\n\`\`\`ts\n${lines}\`\`\`\nmore words`);
    expect(blocks.map(({ fence }) => fence)).toEqual([undefined, '```ts\n', '```ts\n', undefined]);
    const [first, second] = blocks.slice(1).map(blockCode);
    expect([first?.language, second?.language]).toEqual(['ts', 'ts']);
    expect(`${first!.code}\n${second!.code}\n`).toBe(lines);
    expect(blockCode({ text: '~~~\n```\n~~~', fence: '~~~\n' })).toEqual({ language: '', code: '```' });
  });

  it('know the links that other blocks define, and no footnotes or code', () => {
    const text = 'see [the page][p].\n\n```\n[x]: /code\n```\n\n[p]: https://example.com/\n\n[^1]: a note\n';
    expect(new MarkdownBlocks().read(text).definitions).toBe('[p]: https://example.com/');
  });
});

describe('addresses of links', () => {
  it.each([
    'javascript:alert(1)',
    'JAVASCRIPT:x',
    ' java\nscript:x',
    'data:text/html,x',
    'vbscript:x',
    'file:///x',
    '//x',
    'x',
    '/a',
  ])('are refused: %j', (address) => expect(safeUrl(address)).toBe(''));

  it('are kept where they are http or https', () => {
    expect(safeUrl('https://example.com/a?b')).toBe('https://example.com/a?b');
    expect(safeUrl('http://127.0.0.1:1/')).toBe('http://127.0.0.1:1/');
  });
});

describe('values', () => {
  it('are a table if they are an array of records', () => {
    expect(recordTable([{ a: 1 }, { b: 2 }])).toEqual({
      columns: ['a', 'b'],
      rows: [
        [1, undefined],
        [undefined, 2],
      ],
    });
    for (const value of [[], [1], [{ a: 1 }, null], { a: 1 }, 'x', [[1]]]) expect(recordTable(value)).toBeUndefined();
    expect(tablesIn({ rows: [{ a: 1 }], other: 2 }).map(({ name }) => name)).toEqual(['rows']);
  });

  it('have images only of known types, and bytes only in base64', () => {
    const image = { type: 'image', mediaType: 'image/png', data: 'AAAA' };
    expect(imagesIn({ deep: [{ image }] })).toEqual([{ mediaType: 'image/png', data: 'AAAA' }]);
    expect(imagesIn({ ...image, mediaType: 'image/svg+xml' })).toEqual([]);
    expect(imagesIn({ ...image, data: '"><script>' })).toEqual([{ mediaType: 'image/png' }]);
  });
});

describe('arguments', () => {
  const schema = {
    type: 'object',
    properties: { path: { type: 'string' }, list: { type: 'array', items: { type: 'number' } } },
    required: ['path'],
    additionalProperties: false,
  };

  it.each([
    ['{ "path": "a" }', []],
    ['{ "path": "a", "list": [1] }', []],
    ['{', [/^This is not valid JSON/u]],
    ['{}', [/^path is missing$/u]],
    ['{ "path": 1 }', [/^path must be text$/u]],
    ['{ "path": "a", "more": 1 }', [/^more: The tool has no such argument/u]],
    ['{ "path": "a", "list": [1, "b"] }', [/^list\.1 must be a number$/u]],
  ])('%s', (text, expected) => {
    const problems = argumentProblems(text, schema);
    expect(problems).toEqual(expected.map((pattern) => expect.stringMatching(pattern)));
  });

  it('without a schema need only be JSON', () => expect(argumentProblems('[1]', undefined)).toEqual([]));
});

describe('small texts', () => {
  it('durations', () => {
    const times = [0, 3, 42.4, 999, 1200, 42_000, 90_000, 7_200_000, 260_000_000];
    expect(times.map(duration)).toEqual(['<1 ms', '3 ms', '42 ms', '999 ms', '1.2 s', '42 s', '2 min', '2 h', '3 d']);
  });

  it('ages, counts and plurals', () => {
    expect([age(0, 5), age(0, 120_000)]).toEqual(['now', '2\u202fmin']);
    expect([count(950), count(12_400), count(1_200_000)]).toEqual(['950', '12.4k', '1200k']);
    expect([plural(1, 'call'), plural(0, 'call')]).toEqual(['1 call', '0 calls']);
  });

  it('one line about arguments', () => {
    expect(argumentSummary({ path: 'a\n b', other: 'c' })).toBe('a b');
    expect(argumentSummary({ command: ['node', '--test'] })).toBe('node --test');
    expect(argumentSummary({ text: 'x'.repeat(99) }, 10)).toBe(`${'x'.repeat(9)}…`);
    expect(argumentSummary(undefined)).toBe('');
  });

  it('lines of a diff have marks, and other texts have none', () => {
    const { lines, isDiff } = diffLines('*** Update File: a\n@@\n-old\n+new\n same');
    expect(isDiff).toBe(true);
    expect(lines.map(({ kind }) => kind)).toEqual(['heading', 'heading', 'removed', 'added', 'context']);
    expect(diffLines('tool\n - item').lines.map(({ kind }) => kind)).toEqual(['context', 'context']);
  });

  it('conversations are grouped by day, and those that wait come first', () => {
    const now = new Date(2026, 4, 20, 12).getTime();
    const threads = [0, 1, 3, 30].map((days) => ({ threadId: `t${days}`, updatedAt: now - days * 86_400_000 }));
    const groups = groupThreads(threads, new Set(['t30']), now);
    expect(groups.map(({ title, threads: [first] }) => [title, first?.threadId])).toEqual([
      ['Waiting for you', 't30'],
      ['Today', 't0'],
      ['Yesterday', 't1'],
      ['Last 7 days', 't3'],
    ]);
  });

  it('an address of the page leads to its view, and back', () => {
    for (const path of ['', 'threads/thr_1', 'threads/thr_1#turn=run_1', 'threads/t#turn=r/a%2Fb', 'settings/audit'])
      expect(routePath(addressRoute(path))).toBe(path);
    expect(addressRoute('nothing/here')).toEqual({ page: 'new' });
  });
});

describe('what is visible', () => {
  it('is every character that is invisible or reorders others, as an escape', () => {
    expect(visible('a\u202eb\u200bc\u0007')).toBe(String.raw`a\u{202e}b\u{200b}c\u{7}`);
    expect(visible('a\tb\r\nc שלום 你好')).toBe('a\tb\r\nc שלום 你好');
  });

  it('is a cost in dollars, also below a cent', () => {
    expect([0, 0.001, 0.034, 12].map(dollars)).toEqual(['$0.00', '<$0.01', '$0.03', '$12.00']);
  });
});

describe('files', () => {
  it('are grouped by their type', () => {
    const files = [
      { fileKey: 'a.PY' },
      { fileKey: 'plan' },
      { fileKey: 'b.json' },
      { fileKey: 'c', contentType: 'text/csv; charset=utf-8' },
      { fileKey: 'd.ts', source: { kind: 'web' } },
      { fileKey: 'e.html' },
    ];
    expect(fileGroups(files).map(([title, members]) => [title, members.map(({ fileKey }) => fileKey)])).toEqual([
      ['Web pages', ['d.ts', 'e.html']],
      ['Data', ['b.json', 'c']],
      ['Code', ['a.PY']],
      ['Texts', ['plan']],
    ]);
    expect(fileGroups([])).toEqual([]);
  });
});

describe('code in other languages', () => {
  const styled = (source: string, language: string) =>
    codeTokens(source, language).flatMap((line) =>
      line.flatMap(({ text, style }) => (style === '' ? [] : [`${style.slice(4)} ${text}`])),
    );

  it.each([
    ['python', 'def f(x): # note\n  return "a"', ['keyword def', 'comment # note', 'keyword return', 'string "a"']],
    ['bash', 'if true; then # note', ['keyword if', 'keyword true', 'keyword then', 'comment # note']],
    ['go', 'func f() { return 1 } // note', ['keyword func', 'keyword return', 'number 1', 'comment // note']],
    ['rust', 'pub fn f() {} /* a\nb */', ['keyword pub', 'keyword fn', 'comment /* a', 'comment b */']],
    ['java', 'class A { int a = 0x1f; }', ['keyword class', 'keyword int', 'number 0x1f']],
    ['C++', 'return "//"; // note', ['keyword return', 'string "//"', 'comment // note']],
    ['csharp', 'using A; // note', ['keyword using', 'comment // note']],
    ['sql', "SELECT 'a' -- note", ['keyword SELECT', "string 'a'", 'comment -- note']],
    ['yaml', 'a: "b" # note', ['string "b"', 'comment # note']],
    ['html', '<a href="b"> <!-- note -->', ['string "b"', 'comment <!-- note -->']],
    ['json', '{ "a": [1, true] }', ['string "a"', 'number 1', 'keyword true']],
    ['unknown', 'return 1', []],
  ])('is coloured: %s', (language, source, tokens) => {
    expect(styled(source, language)).toEqual(tokens);
  });

  it('keeps each character, in linear time', () => {
    const hostile = [
      '"'.repeat(50_000),
      '/*'.repeat(20_000),
      "'\\".repeat(20_000),
      '<!--\n'.repeat(9_000),
      '\ud800"\r\n\0',
    ];
    for (const source of hostile)
      for (const language of ['python', 'go', 'sql', 'html', 'json', 'text'])
        expect(
          codeTokens(source, language)
            .map((line) => line.map(({ text }) => text).join(''))
            .join('\n'),
        ).toBe(source);
  });
});

it('the summary of arguments keeps characters whole', () => {
  const summary = argumentSummary({ text: `${'a'.repeat(58)}😀${'b'.repeat(9)}` }, 60);
  expect([summary, argumentSummary({ text: '😀'.repeat(9) })]).toEqual([`${'a'.repeat(58)}…`, '😀'.repeat(9)]);
});
