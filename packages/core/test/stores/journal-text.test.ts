import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readJournalText, writeBatch } from '#core/stores/journal-text.js';
import { tries } from '@toolscript/testkit/some-cases';

const line = fc.oneof(
  fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll('\n', '')),
  fc.constantFrom('', '+', '+x', '3 x', '3*2 x', '1', '1*0 ', '0 ', '.', '#3.0*1 00000000', '!{}', '@'),
);
const lines = fc.array(line, { minLength: 1, maxLength: 4 });
const batches = fc.array(lines, { maxLength: 6 });

/** One batch after the other, numbered from `first`. */
const textOf = (all: readonly (readonly string[])[], { epoch = 3, first = 0 } = {}) =>
  all.map((batch, index) => writeBatch(epoch, first + index, { lines: batch })).join('');

describe('the text of a journal', () => {
  it('returns every line', () => {
    fc.assert(
      fc.property(batches, (all) => {
        const { lines: found, gap, counts } = readJournalText(textOf(all));
        expect({ found, gap }).toEqual({ found: all.flat(), gap: undefined });
        expect(counts.get(3) ?? 0).toBe(all.length);
      }),
      { numRuns: tries(2_000) },
    );
  });

  it('ignores a batch that is truncated anywhere, without harm to earlier batches and to its retry', () => {
    fc.assert(
      fc.property(
        batches,
        lines,
        batches,
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (before, torn, after, share) => {
          const number = before.length;
          const whole = writeBatch(3, number, { lines: torn });
          const cut = whole.slice(0, Math.floor(whole.length * share));
          expect(readJournalText(textOf(before) + cut)).toMatchObject({ lines: before.flat(), gap: undefined });
          const again = textOf(before) + cut + textOf([torn, ...after], { first: number });
          expect(readJournalText(again)).toMatchObject({ lines: [...before, torn, ...after].flat(), gap: undefined });
          const twice = textOf([...before, torn]) + cut + whole + textOf(after, { first: number + 1 });
          expect(readJournalText(twice)).toMatchObject({ lines: [...before, torn, ...after].flat(), gap: undefined });
        },
      ),
      { numRuns: tries(5_000) },
    );
  });

  it('loses one batch by a flipped bit, and reports data missing in the middle', () => {
    fc.assert(
      fc.property(fc.array(lines, { minLength: 1, maxLength: 6 }), fc.nat(), fc.nat(7), (all, at, bit) => {
        const bytes = Buffer.from(textOf(all));
        const place = at % bytes.length;
        bytes[place] = bytes[place]! ^ (1 << bit);
        const { lines: found, gap, counts } = readJournalText(bytes.toString('utf8'));
        const missing = all.length - (counts.get(3) ?? 0);
        const isWhole = found.join('\n') === all.flat().join('\n');
        // The line feed before the first batch has no meaning.
        if (isWhole) return;
        const isEnd = missing > 0;
        expect(gap !== undefined || isEnd, `byte ${place}`).toBe(true);
        expect(found.length).toBeLessThan(all.flat().length);
      }),
      { numRuns: tries(5_000) },
    );
  });

  it('returns the newest valid status and slot', () => {
    const slot = { name: 'slot-3-1', bytes: 4, crc: '0a0b0c0d' };
    const first = writeBatch(3, 0, { lines: ['a'], status: { state: 'running' } });
    const second = writeBatch(3, 1, { lines: [], status: { state: 'suspended', threadId: 'é' }, slot });
    const stale = writeBatch(2, 0, { lines: ['stale'], status: { state: 'ended' }, slot: null });
    const expected = { lines: ['a'], status: { state: 'suspended', threadId: 'é' }, slot };
    expect(readJournalText(first + second + stale)).toMatchObject(expected);
    expect(readJournalText(first + second.slice(0, -1))).toMatchObject({
      status: { state: 'running' },
      slot: undefined,
    });
    const emptied = first + second + writeBatch(3, 2, { lines: [], slot: null });
    expect(readJournalText(emptied)).toMatchObject({ status: { state: 'suspended' }, slot: undefined });
  });

  it('ignores lines of an older epoch after a newer one, or after its fence', () => {
    const text =
      textOf([['a']], { epoch: 1 }) + textOf([['b']], { epoch: 2 }) + textOf([['stale']], { epoch: 1, first: 1 });
    expect(readJournalText(text)).toMatchObject({ lines: ['a', 'b'], newestEpoch: 2, gap: undefined });
    const fence = writeBatch(2, 0, { lines: [] });
    const fenced = textOf([['a']], { epoch: 1 }) + fence + textOf([['stale']], { epoch: 1, first: 1 });
    expect(readJournalText(fenced)).toMatchObject({ lines: ['a'], newestEpoch: 2, gap: undefined });
    const goesOn = fenced + textOf([['b']], { epoch: 2, first: 1 });
    expect(readJournalText(goesOn)).toMatchObject({ lines: ['a', 'b'], newestEpoch: 2, gap: undefined });
    const withoutFence = textOf([['a']], { epoch: 1 }) + textOf([['b']], { epoch: 2, first: 1 });
    expect(readJournalText(withoutFence).gap).toBe('1 of its entries before entry 1 of epoch 2 are missing');
  });

  it('is empty for a file that is not a journal', () => {
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
      '#3.0*0 00000000\n.',
      '#3.0*1 00000000\n+x\n.',
      '!{"state":"ended"}\n.',
    ])
      expect(readJournalText(text), JSON.stringify(text)).toMatchObject({
        lines: [],
        newestEpoch: 0,
        status: undefined,
      });
  });
});
