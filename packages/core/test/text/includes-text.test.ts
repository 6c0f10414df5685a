import fc from 'fast-check';
import { expect, it } from 'vitest';
import { includesText } from '#core/text/includes-text.js';

/** Texts of few characters repeat themselves. */
const repetitive = (maxLength: number) => fc.string({ unit: fc.constantFrom('a', 'b'), maxLength });

it('a text is found where the built-in search finds it', () => {
  fc.assert(
    fc.property(repetitive(200), repetitive(60), repetitive(60), fc.boolean(), (text, left, right, isInside) => {
      const searched = `${'a'.repeat(40)}${left}`;
      const whole = isInside ? `${text}${searched}${right}` : `${text}${'a'.repeat(60)}${right}`;
      expect(includesText(whole, searched)).toBe(whole.includes(searched));
      expect(includesText(text, left)).toBe(text.includes(left));
    }),
    { numRuns: 2_000 },
  );
});

it('a text that repeats itself is searched to its end', () => {
  // The built-in search would compare 10^12 characters.
  const side = 'a'.repeat(1_000_000);
  expect(includesText(side + side + side, `${side}b${side}`)).toBe(false);
});
