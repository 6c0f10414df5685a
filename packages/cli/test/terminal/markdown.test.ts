import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MarkdownStream } from '#cli/terminal/markdown.js';
import { styleFor } from '#cli/terminal/style.js';

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
  it('is set in lines of the screen’s width', () => {
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

  it('keeps names, powers and indexes as they were written', () => {
    const line = 'a_b_c my_file_name __init__ 2**3 x*y*z list[0] [1, 2] $5 *args **kwargs <b>x</b> &amp; `open';
    expect(shown([line], { columns: 200 })).toBe(`${line}\n`);
  });

  it('shows marks of meaning where there is colour', () => {
    expect(shown(['**bold** and `code`'], { colour: true })).toContain('\x1b[1mbold\x1b[22m');
    expect(shown(['**bold** and `code`'], { colour: true })).toContain('\x1b[36mcode\x1b[39m');
  });

  it('obeys nothing that a model writes', () => {
    const hostile = 'a\x1b[31mred\x07 \u202eevil\u202c `x\x1b]0;title\x07` [a](\x1b[2J)';
    const out = shown([...hostile]);
    expect(out).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f\u202a-\u202e]/u);
    expect(out).toContain('\\u{1b}[31mred');
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
  );

  it('loses no word, whatever the signs around it', () => {
    const words = (text: string) => text.match(/word|Wort|文字/gu) ?? [];
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        expect(words(shown(pieces, { columns: 10_000 }))).toEqual(words(pieces.join('')));
      }),
      { numRuns: 2_000 },
    );
  });

  it('is the same however it was split', () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), fc.integer({ min: 1, max: 9 }), (pieces, size) => {
        const text = pieces.join('');
        const split = Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
          text.slice(at * size, (at + 1) * size),
        );
        expect(shown(split)).toBe(shown([text]));
      }),
      { numRuns: 2_000 },
    );
  });
});
