import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StrictTextDecoder, scanUtf8 } from '#cli/input/source.js';
import { tries } from '@toolscript/testkit/some-cases';

function decode(...chunks: Uint8Array[]): string {
  const decoder = new StrictTextDecoder('input');
  const text = chunks.map((chunk) => decoder.push(chunk)).join('');
  decoder.end();
  return text;
}

describe('input bytes', () => {
  it('decode to the same text however they are split', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 40 }),
        fc.array(fc.nat(160), { maxLength: 6 }),
        (raw, cuts) => {
          const text = raw.toWellFormed().replaceAll('\0', '');
          const bytes = Buffer.from(text);
          const places = [
            0,
            ...cuts.map((cut) => Math.min(cut, bytes.length)).toSorted((left, right) => left - right),
            bytes.length,
          ];
          const chunks = places.slice(1).map((end, index) => bytes.subarray(places[index], end));
          fc.pre(bytes[0] !== 0xff && bytes[0] !== 0xfe);
          expect(decode(...chunks)).toBe(text);
        },
      ),
      { numRuns: tries(1_000) },
    );
  });

  it('keep their byte order mark', () => {
    expect(decode(Buffer.from('\ufeffa'))).toBe('\ufeffa');
  });

  it.each([
    [
      'a stray byte',
      [0x61, 0xff, 0x62],
      'input is not UTF-8: byte 1 (0xff) starts no valid character. Save it as UTF-8 and try again.',
    ],
    ['an overlong form', [0x61, 0x62, 0xc0, 0xaf], 'byte 2 (0xc0)'],
    ['an encoded surrogate', [0xed, 0xa0, 0x80], 'byte 0 (0xed)'],
    ['an unfinished character at the end', [0x61, 0xe2, 0x82], 'byte 1 (0xe2)'],
    ['a NUL byte', [0x61, 0x00], 'input is binary (byte 1 is NUL). Use a text file.'],
    ['UTF-16', [0xff, 0xfe, 0x61, 0x00], 'input is UTF-16 text. Save it as UTF-8 and try again.'],
  ])('with %s are refused, with the place', (_name, bytes, message) => {
    expect(() => decode(Uint8Array.from(bytes))).toThrow(message);
    expect(() => decode(...bytes.map((byte) => Uint8Array.of(byte)))).toThrow(
      _name === 'UTF-16' ? 'input is' : message,
    );
  });

  it('are validated as the platform validates them', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 12 }), (bytes) => {
        const { validBytes } = scanUtf8(bytes);
        const decoder = new TextDecoder('utf-8', { fatal: true });
        expect(() => decoder.decode(bytes.subarray(0, validBytes))).not.toThrow();
        if (validBytes < bytes.length) expect(() => decoder.decode(bytes)).toThrow();
      }),
      { numRuns: tries(5_000) },
    );
  });
});
