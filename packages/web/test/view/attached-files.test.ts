import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { filesIn, withFiles } from '../../src/view/attached-files.ts';

const words = fc
  .array(
    fc.constantFrom(
      'a',
      '\n',
      '\n\n',
      '<attached-file name="x">',
      '</attached-file>',
      '</attached-file-x>',
      '"',
      'é😀',
      ' ',
    ),
    {
      maxLength: 12,
    },
  )
  .map((parts) => parts.join(''));

describe('files in a message', () => {
  it('are read back as they were attached, whatever they contain', () => {
    const files = fc.array(fc.record({ name: fc.stringMatching(/^[\w. -]{1,20}$/u), text: words }), { maxLength: 4 });
    // A prompt that ends like a block is read as a block.
    const prompt = words.filter((text) => !/<\/attached-file(?:-x)*>$/u.test(text));
    fc.assert(
      fc.property(prompt, files, (text, attached) => {
        expect(filesIn(withFiles(text, attached))).toEqual({ prompt: text, files: attached });
      }),
      { numRuns: 2_000 },
    );
  });

  it('are none in a message without blocks', () => {
    for (const message of [
      '',
      'hello',
      '</attached-file>',
      '\n\n<attached-file name="a">\nb\n</attached-file> and more',
    ])
      expect(filesIn(message)).toEqual({ prompt: message, files: [] });
  });
});
