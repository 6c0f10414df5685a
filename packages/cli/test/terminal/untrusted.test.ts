import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonText, visible, visibleLine, VisibleStream } from '#cli/terminal/untrusted.js';
import { tries } from '@toolscript/testkit/some-cases';

const DANGEROUS = /(?![\t\n\r])\p{Cc}|[\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/u;

/** Some characters of each invisible kind. */
const INVISIBLE = [
  0xad, 0x34f, 0x61c, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x180b, 0x180e, 0x180f, 0x200b, 0x200d, 0x2060, 0x2064, 0x2800,
  0x3164, 0xfe00, 0xfe0e, 0xfe0f, 0xfeff, 0xffa0, 0xe0001, 0xe0041, 0xe0100, 0xe01ef,
];

describe('untrusted text', () => {
  it.each([
    ['an escape sequence', '\x1b[31mred\x1b]0;title\x07', '\\u{1b}[31mred\\u{1b}]0;title\\u{7}'],
    ['a one-character control sequence introducer', 'a\x9b2Jb', 'a\\u{9b}2Jb'],
    ['a backspace and a bare carriage return', 'ok\b\b\rno', 'ok\\u{8}\\u{8}\\u{d}no'],
    ['bidi overrides', 'a\u202eb\u2066c', 'a\\u{202e}b\\u{2066}c'],
    ['zero-width characters', 'a\u200bb\ufeffc\u200dd', 'a\\u{200b}b\\u{feff}c\\u{200d}d'],
    ['tag characters', 'a\u{e0041}', 'a\\u{e0041}'],
    ['a lone surrogate', 'a\ud800b', 'a\\u{d800}b'],
  ])('shows %s as what it is', (_name, text, shown) => {
    expect(visible(text)).toBe(shown);
  });

  it.each(['plain\n\ttext', 'two\r\nlines', 'Café 日本語', '✔️ 👩‍👩‍👧 👍🏽 1️⃣', 'می‌خواهم'])(
    'keeps visible text unchanged: %j',
    (text) => {
      expect(visible(text)).toBe(text);
    },
  );

  it('never lets a control, bidi or zero-width character through, however the text is split', () => {
    const characters = fc.constantFrom(
      'a',
      '\x1b',
      '\x9b',
      '\u202e',
      '\u200b',
      '\r',
      '\n',
      '✔',
      '\ufe0f',
      '\ud83d\udc4d',
      '日',
      '\u{e0041}',
    );
    fc.assert(
      fc.property(fc.array(fc.string({ unit: characters, maxLength: 6 }), { maxLength: 12 }), (pieces) => {
        const stream = new VisibleStream();
        const shown = pieces.map((piece) => stream.push(piece)).join('') + stream.end();
        expect(DANGEROUS.test(shown.replaceAll('\r\n', '\n'))).toBe(false);
        expect(shown).not.toMatch(/\r(?!\n)/u);
      }),
      { numRuns: tries(2_000) },
    );
  });

  it('is the same in chunks as in one piece', () => {
    const text = 'a\r\nb ✔️ 👩‍👩‍👧 c\x1b[1m 1️⃣ 日本\u202e end';
    fc.assert(
      fc.property(fc.array(fc.nat(text.length), { maxLength: 8 }), (cuts) => {
        const stream = new VisibleStream();
        let shown = '';
        let from = 0;
        for (const cut of [...cuts.toSorted((left, right) => left - right), text.length]) {
          shown += stream.push(text.slice(from, cut));
          from = cut;
        }
        expect(shown + stream.end()).toBe(visible(text));
      }),
      { numRuns: tries(1_000) },
    );
  });

  it.each(INVISIBLE.map((code) => [code.toString(16), String.fromCodePoint(code)]))(
    'never hides U+%s in a name, even beside an emoji',
    (hex, character) => {
      for (const name of [`a${character}b`, `✔${character}`, `1${character}\u20e3`, `👩${character}👧`])
        expect(visibleLine(name)).toContain(`\\u{${hex}}`);
      expect(jsonText(`a${character}`)).not.toContain(character);
      expect(visible(`a${character}b`)).toBe(`a\\u{${hex}}b`);
    },
  );

  it('stays on one line where required', () => {
    expect(visibleLine('one\n  two\tthree\x1b')).toBe('one two three\\u{1b}');
  });

  it('is the same value in JSON without terminal control characters', () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
        const text = jsonText(value);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
        expect(DANGEROUS.test(text)).toBe(false);
      }),
    );
    expect(jsonText('\x9b\u202e\u{e0041}')).toBe(String.raw`"\u009b\u202e\udb40\udc41"`);
  });
});
