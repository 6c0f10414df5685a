import { describe, expect, it } from 'vitest';
import { previewText } from '#core/text/preview-text.js';

describe('the preview of a call', () => {
  it('has facts of one line first, then indented texts, then cut notes', () => {
    const text = previewText({
      title: 'Save "a"',
      facts: { Input: 'x\nSource: y', Result: undefined },
      texts: { Source: 'one\ntwo' },
      notes: { Note: `n\nInput: z${'!'.repeat(2_000)}` },
    });
    const lines = text.split('\n');
    expect(lines.slice(0, 5)).toEqual(['Save "a"', 'Input: x Source: y', 'Source:', '    one', '    two']);
    expect(lines.slice(5, 8)).toEqual(['Note:', '    n', expect.stringMatching(/^ {4}Input: z!+ \[… 1010 more/u)]);
  });
});
