import { describe, expect, it } from 'vitest';
import * as fc from 'fast-check';
import { renderForPerson } from '#core/calls/approvals/render.js';
import { tries } from '@toolscript/testkit/some-cases';

/** Code points that must always be escaped; the line feed ends a shown line. */
function isDangerous(codePoint: number): boolean {
  const ranges: [number, number][] = [
    [0x00, 0x09],
    [0x0b, 0x1f],
    [0x7f, 0xa0],
    [0xad, 0xad],
    [0x34f, 0x34f],
    [0x61c, 0x61c],
    [0x115f, 0x1160],
    [0x1680, 0x1680],
    [0x17b4, 0x17b5],
    [0x180b, 0x180f],
    [0x2000, 0x200f],
    [0x2028, 0x202f],
    [0x205f, 0x206f],
    [0x2800, 0x2800],
    [0x3000, 0x3000],
    [0x3164, 0x3164],
    [0xd800, 0xf8ff],
    [0xfe00, 0xfe0f],
    [0xfeff, 0xfeff],
    [0xffa0, 0xffa0],
    [0xfff0, 0xfffb],
    [0x1bca0, 0x1bca3],
    [0x1d173, 0x1d17a],
    [0xe0000, 0x10ffff],
  ];
  return ranges.some(([first, last]) => codePoint >= first && codePoint <= last);
}

const dangerousIn = (text: string) =>
  [...text].map((character) => character.codePointAt(0) as number).filter(isDangerous);

const nasty = fc.constantFrom(
  '\u202e',
  '\u200b',
  '\u2066',
  '\u{e0041}',
  '\ufe0f',
  '\u3164',
  '\u2800',
  '\ud800',
  '\udc00',
  '\u0000',
  '\u001b[31m',
  '\r',
  '\r\n',
  '\n',
  '\t',
  '\\u{41}',
  '\u00a0',
  '\u{e0100}',
  '\uffa0',
  '😀',
  'a',
  ' ',
);
const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.array(nasty, { maxLength: 30 }).map((parts) => parts.join('')),
  fc.string({ maxLength: 60 }),
);

describe('text rendered for a user', () => {
  it('escapes every code point that hides, reorders or imitates', () => {
    const missed: string[] = [];
    let seen = 0;
    for (let codePoint = 0; codePoint <= 0x10ffff; codePoint++) {
      if (!isDangerous(codePoint)) continue;
      seen += 1;
      const rendered = renderForPerson(String.fromCodePoint(codePoint));
      if (dangerousIn(rendered).length > 0) missed.push(codePoint.toString(16));
    }
    expect(missed).toEqual([]);
    expect(seen).toBeGreaterThan(100_000);
  });

  it('leaves ordinary text of every writing system unchanged', () => {
    for (const text of [
      'git commit -m "x"',
      'é ü ß',
      '日本語',
      'العربية',
      'עברית',
      'हिन्दी',
      '한국어',
      '😀',
      'e\u0301',
      'C:\\users\\x',
    ]) {
      expect(renderForPerson(text)).toBe(text);
    }
  });

  it.each([
    ['a\u202eb', 'a\\u{202e}b'],
    ['\ud800', '\\u{d800}'],
    ['\u{e0041}', '\\u{e0041}'],
    ['a\nb', 'a⏎\nb'],
    ['a\r\nb', 'a␍⏎\nb'],
    ['a\rb', 'a\\u{d}b'],
    ['a\tb', 'a⇥ b'],
    ['\\u{202e}', '\\\\u{202e}'],
    ['', ''],
    ['a ', 'a\\u{20}'],
    [' a', '\\u{20}a'],
  ])('shows %j as %j', (text, rendered) => {
    expect(renderForPerson(text)).toBe(rendered);
  });

  it('reports how much was omitted, and shows the end', () => {
    const rendered = renderForPerson(`${'x'.repeat(10_000)} && rm -rf /`, { maxLength: 100 });
    expect(rendered).toMatch(/^x+\n\[… 9912 characters left out …\]\nx+ && rm -rf \/$/);
  });

  it('never emits a dangerous code point, at any length', () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 1, max: 80 }), (text, maxLength) => {
        expect(dangerousIn(renderForPerson(text))).toEqual([]);
        const cut = renderForPerson(text, { maxLength });
        expect(dangerousIn(cut)).toEqual([]);
        expect(cut.length).toBeLessThanOrEqual(maxLength + 60);
      }),
      { numRuns: tries(3_000) },
    );
  });

  it('shows different texts differently', () => {
    fc.assert(
      fc.property(anyText, anyText, (left, right) => {
        fc.pre(left !== right && !/[⏎␍⇥]/.test(left + right));
        expect(renderForPerson(left)).not.toBe(renderForPerson(right));
      }),
      { numRuns: tries(3_000) },
    );
  });

  it('renders a megabyte', () => {
    expect(renderForPerson('\u202e'.repeat(1_000_000)).length).toBeLessThan(4_100);
  });
});

describe('names that differ only in blanks', () => {
  it.each([
    ['a.txt', 'a.txt '],
    ['a.txt', ' a.txt'],
    ['a.txt ', 'a.txt  '],
    [' ', ''],
    ['one\nlast', 'one\nlast '],
    ['a\u3164', 'a'],
    ['a\ufe0f', 'a'],
  ])('never look the same: %j and %j', (one, other) => {
    expect(renderForPerson(one).trim()).not.toBe(renderForPerson(other).trim());
    expect(renderForPerson(one)).toBe(renderForPerson(one).trim());
    expect(renderForPerson(other)).toBe(renderForPerson(other).trim());
  });

  it('show their blanks even if they are truncated, within the available room', () => {
    for (const text of [`${'x'.repeat(500)} `, ` ${'x'.repeat(500)}`]) {
      const shown = renderForPerson(text, { maxLength: 100 });
      expect(shown).toContain('\\u{20}');
      expect(shown.replace(/\n\[.*\]\n/u, '').length).toBeLessThanOrEqual(100);
    }
  });
});
