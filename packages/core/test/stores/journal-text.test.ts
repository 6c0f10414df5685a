import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readJournalText, writeBatch, writeFence } from '#core/stores/journal-text.js';

const line = fc.oneof(
  fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll('\n', '')),
  fc.constantFrom('', '+', '+x', '3 x', '3*2 x', '1', '1*0 ', '0 ', '.'),
);
const lines = fc.array(line, { minLength: 1, maxLength: 4 });
const batches = fc.array(lines, { maxLength: 6 });

const textOf = (all: readonly (readonly string[])[], epoch = 3) =>
  all.map((batch) => writeBatch(epoch, batch)).join('');

describe('the text of a journal', () => {
  it('gives back every line', () => {
    fc.assert(
      fc.property(batches, (all) => {
        expect(readJournalText(textOf(all)).lines).toEqual(all.flat());
      }),
      { numRuns: 2_000 },
    );
  });

  it('an append that was cut off anywhere does not count, nor harm what is before and after it', () => {
    let cuts = 0;
    fc.assert(
      fc.property(
        batches,
        lines,
        batches,
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (before, torn, after, share) => {
          const whole = writeBatch(3, torn);
          const cut = whole.slice(0, Math.floor(whole.length * share));
          cuts++;
          expect(readJournalText(textOf(before) + cut).lines).toEqual(before.flat());
          expect(readJournalText(textOf(before) + cut + textOf(after)).lines).toEqual([...before, ...after].flat());
        },
      ),
      { numRuns: 5_000 },
    );
    expect(cuts).toBe(5_000);
  });

  it('cut off twice, in any places, it still harms nothing', () => {
    fc.assert(
      fc.property(lines, lines, lines, fc.nat(), fc.nat(12), (one, two, after, first, second) => {
        const cut = (batch: readonly string[], at: number) => {
          const whole = writeBatch(3, batch);
          return whole.slice(0, at % whole.length);
        };
        const torn = cut(one, first) + cut(two, second);
        expect(readJournalText(torn).lines).toEqual([]);
        expect(readJournalText(torn + textOf([after])).lines).toEqual(after);
      }),
      { numRuns: 5_000 },
    );
  });

  it('read from any line feed on, it gives the last lines', () => {
    fc.assert(
      fc.property(batches, lines, fc.nat(), (before, last, from) => {
        const text = textOf([...before, last]);
        const starts = [...textOf(before).matchAll(/\n/gu)].map(({ index }) => index + 1);
        const found = readJournalText(text.slice(starts[from % (starts.length + 1)] ?? 0)).lines;
        expect(found.slice(-last.length)).toEqual(last);
        expect([...before, last].flat().slice(-found.length)).toEqual(found);
      }),
      { numRuns: 2_000 },
    );
  });

  it('lines of an older epoch below a newer one, or below its fence, do not count', () => {
    const text = writeBatch(1, ['a']) + writeBatch(2, ['b']) + writeBatch(1, ['stale', 'stale']) + writeBatch(2, ['c']);
    expect(readJournalText(text)).toEqual({ lines: ['a', 'b', 'c'], newestEpoch: 2 });
    const fenced = writeBatch(1, ['a']) + writeFence(2) + writeBatch(1, ['stale']);
    expect(readJournalText(fenced)).toEqual({ lines: ['a'], newestEpoch: 2 });
    expect(readJournalText(fenced + writeBatch(2, ['b']))).toEqual({ lines: ['a', 'b'], newestEpoch: 2 });
    expect(readJournalText(writeFence(10) + writeBatch(9, ['stale']))).toEqual({ lines: [], newestEpoch: 10 });
  });

  it('what is no journal gives nothing', () => {
    for (const text of [
      '',
      '\n',
      '\n\n\n',
      'x',
      '{"a":1}\n',
      '\0\0\0\0',
      '+x\n',
      '3\n',
      '3 x\n',
      '.',
      '\n3\n.',
      '-1 x\n.',
      '3*2 x\n.',
      ' 3 x\n.',
      '3 x\n\n.',
      '3 x\n+y\n.',
    ])
      expect(readJournalText(text), JSON.stringify(text)).toEqual({ lines: [], newestEpoch: 0 });
  });
});
