import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { codeFrame } from '#core/text/code-frame.js';

describe('a code frame', () => {
  it('shows two lines before and after, numbered, with a mark under the column', () => {
    const source = Array.from({ length: 12 }, (_, index) => `line${index + 1}`).join('\n');
    expect(codeFrame(source, 10, 3)).toBe(
      ['   8 | line8', '   9 | line9', '> 10 | line10', '     |   ^', '  11 | line11', '  12 | line12'].join('\n'),
    );
  });

  it('truncates long lines to a window around the column and keeps the mark under it', () => {
    const source = `${'a'.repeat(5000)}!${'b'.repeat(5000)}`;
    const [line, mark] = codeFrame(source, 1, 5001).split('\n');
    expect(line?.length).toBeLessThan(140);
    expect(line?.charAt(mark?.indexOf('^') ?? -1)).toBe('!');
  });

  it('marks the right place after tabs', () => {
    const [line, mark] = codeFrame('\t\tfoo(bar)', 1, 7).split('\n');
    expect(line?.charAt(mark?.indexOf('^') ?? -1)).toBe('b');
  });

  it('lets no control or bidi character through', () => {
    const frame = codeFrame('a\u001b[31m\u0000\u202eb\u2066c\u2028\r\nd\re', 1, 1);
    // oxlint-disable-next-line no-control-regex
    expect(frame).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202a-\u202e\u2066-\u2069\u2028]/);
    expect(frame.split('\n')).toHaveLength(4);
  });

  it('has a mark for every requested position', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.double(), fc.double(), (source, line, column) => {
        const rows = codeFrame(source, line, column).split('\n');
        expect(rows.filter((row) => /^ +\| *\^$/.test(row))).toHaveLength(1);
        expect(rows.length).toBeLessThanOrEqual(6);
      }),
    );
  });
});
