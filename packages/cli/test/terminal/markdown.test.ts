import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MarkdownStream } from '#cli/terminal/markdown.js';
import { styleFor } from '#cli/terminal/screen.js';
import { tries } from '@toolscript/testkit/some-cases';

function shown(pieces: readonly string[], { columns = 60, colour = false } = {}): string {
  let out = '';
  const stream = new MarkdownStream(
    (text) => (out += text),
    styleFor(colour),
    () => columns,
  );
  for (const piece of pieces) stream.push(piece);
  stream.end();
  return out;
}

function inPieces(text: string, size: number): string[] {
  return Array.from({ length: Math.ceil(text.length / size) }, (_, at) => text.slice(at * size, (at + 1) * size));
}

const TEXT = `# Head

Para one
second line **bold \`code\` here**, long enough to be wrapped at sixty columns.

- a
- b
  - c
    more
- z

1. one
2. two

> quote
> more

\`\`\`ts
if (x) {
\tb( 1 );
\`\`\`
After.

| a | b |
|---|---|
| 1 | 2222 |

- [x] done
- [ ] todo

---
[link](http://a.b)
`;

describe('Markdown at a terminal', () => {
  it('is wrapped to the screen’s width', () => {
    expect(shown([TEXT])).toBe(`Head

Para one
second line bold code here, long enough to be wrapped at
sixty columns.

• a
• b
  • c
    more
• z

1. one
2. two

│ quote
│ more

  ts
  if (x) {
      b( 1 );
After.

  a  b
  1  2222

• [x] done
• [ ] todo

────────────────────────────────────────
link (http://a.b)
`);
  });

  it('keeps names, powers and indexes unchanged', () => {
    const line = 'a_b_c my_file_name __init__ 2**3 x*y*z list[0] [1, 2] $5 *args **kwargs <b>x</b> &amp; `open';
    expect(shown([line], { columns: 200 })).toBe(`${line}\n`);
  });

  it('shows styles where colour is available', () => {
    expect(shown(['**bold** and `code`'], { colour: true })).toContain('\x1b[1mbold\x1b[22m');
    expect(shown(['**bold** and `code`'], { colour: true })).toContain('\x1b[36mcode\x1b[39m');
  });

  it('interprets no control character of a model', () => {
    const hostile = 'a\x1b[31mred\x07 \u202eevil\u202c `x\x1b]0;title\x07` [a](\x1b[2J)';
    const out = shown([...hostile]);
    expect(out).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f\u202a-\u202e]/u);
    expect(out).toContain('\\u{1b}[31mred');
  });

  it('recognises a fence at any depth, and keeps its content', () => {
    const text = '- step\n\n      ```c\n      a *= *b* * c;\n        `d`\n      ```\n\n  after *it*\n';
    expect(shown([text])).toBe('• step\n\n  c\n  a *= *b* * c;\n    `d`\n\n  after it\n');
    expect(shown(['1. a\n\t```\n\t**x**\n\t```\n   b\n'])).toBe('1. a\n  **x**\n   b\n');
  });

  it('does not read a line that begins with code as a fence', () => {
    expect(shown(['```x``` and *more*\n*next*\n'])).toBe('x and more\nnext\n');
  });

  it('reads only the second row of a table as the separator', () => {
    expect(shown(['| a | b |\n|:--|---|\n| - | - |\n| | |\n|---|---|\n| 1 | 2 |\n'])).toBe(
      '  a    b\n  -    -\n\n  ---  ---\n  1    2\n',
    );
    expect(shown(['| - | - |\n| - | - |\n'])).toBe('  -  -\n');
  });

  it('shows bars outside a table unchanged', () => {
    expect(shown(['|| both\n'])).toBe('|| both\n');
    expect(shown(['a\n  | x | *y* |\n| | |\nb'])).toBe('a\n  | x | *y* |\n| | |\nb\n');
    expect(shown(['| not |\n| a | b |\n|---|---|\n| 1 | 2 |'])).toBe('| not |\n  a  b\n  1  2\n');
  });

  it('keeps indented code unchanged, but not text that is indented under a list', () => {
    expect(shown(['so:\n\n    a *b* `c`\n      d\n\n\te **f**\n\nso *g*\n    *h*\n'])).toBe(
      'so:\n\n  a *b* `c`\n    d\n\n  e **f**\n\nso g\n    h\n',
    );
    expect(shown(['- a\n\n    *b*\n\nc\n\n    *d*\n'])).toBe('• a\n\n    b\n\nc\n\n  *d*\n');
    expect(shown(['| a |\n|---|\n    *b*\n'])).toBe('  a\n    b\n');
    expect(shown(['    ``` *a*` b\n'])).toBe('  ``` *a*` b\n');
  });

  // If the work grows with the square of a text’s length, a megabyte does not end in time.
  it.each([
    ...['a', ' ', '> ', '-', '`', '[', '| ', '*a', '`a', '    a\n'].map((sign) => ['', sign] as const),
    ['a', ' '] as const,
    ['```', '`'] as const,
  ])('renders a megabyte that begins with %j and continues with %j', (before, sign) => {
    const size = 1_000_000;
    const text = before + sign.repeat(size / sign.length);
    const out = shown(inPieces(text, 16));
    expect(out === shown([text])).toBe(true);
    expect(out.length).toBeLessThan(30 * size);
  });

  it('limits the indentation, number and column before every line', () => {
    const words = 'a '.repeat(100_000);
    for (const text of [
      ' '.repeat(100_000) + words,
      '> '.repeat(100_000) + words,
      `- a\n${' '.repeat(100_000)}- ${words}`,
      `1.${' '.repeat(100_000)}${words}`,
      `|a|\n|-|\n|${'w'.repeat(100_000)}|\n${'|a|b|\n'.repeat(20_000)}`,
    ])
      expect(shown([text]).length).toBeLessThan(40 * text.length);
  });

  const piece = fc.constantFrom(
    'word',
    'Wort',
    ' ',
    '\n',
    '\n\n',
    '*',
    '**',
    '_',
    '`',
    '```',
    '```ts\n',
    '\n```\n',
    '[',
    ']',
    '(',
    ')',
    '#',
    '# ',
    '- ',
    '1. ',
    '> ',
    '|',
    '| a | b |\n|---|---|\n',
    '~~',
    '!',
    '<',
    '\\',
    '$',
    '\u{1f468}\u200d\u{1f469}',
    '文字',
    'http://x.y/z',
    '  ',
    '\t',
    '---\n',
    '- [x] ',
    '    ',
    '\n\n    ',
    '\n    ```\n',
    '```x``` ',
    '\n| - | - |\n',
    '\n| | |\n',
    '|| ',
    '[a](b)',
    '\u{1d400}',
    ...[' ', 'y', '[', '*', '`', '-', '>', '|'].map((sign) => sign.repeat(410)),
  );

  it('loses no word, whatever the markers around it', () => {
    const words = (text: string) => text.match(/word|Wort|文字/gu) ?? [];
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const out = shown(pieces, { columns: 10_000 });
        expect(words(out)).toEqual(words(pieces.join('')));
        expect(out).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f]/u);
      }),
      { numRuns: tries(2_000) },
    );
  });

  it('is the same however the text was split', () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), fc.integer({ min: 1, max: 9 }), (pieces, size) => {
        const text = pieces.join('');
        expect(shown(inPieces(text, size))).toBe(shown([text]));
      }),
      { numRuns: tries(2_000) },
    );
  });
});
