import { JsonMeasure, jsonTextProblem } from '#core/protocol/json.js';
import fc from 'fast-check';
import { expect, it } from 'vitest';

const LIMITS = { levels: 3, values: 8 };

it('a text has the same problem in any parts', () => {
  const text = fc.string({ unit: fc.constantFrom('[', ']', '{', '}', '"', '\\', ',', ':', ' ', 'a'), maxLength: 60 });
  const problems = new Set<string | undefined>();
  fc.assert(
    fc.property(text, fc.array(fc.nat(8), { maxLength: 60 }), (whole, lengths) => {
      const measure = new JsonMeasure(LIMITS);
      let rest = whole;
      for (const length of lengths) {
        measure.add(rest.slice(0, length));
        rest = rest.slice(length);
      }
      measure.add(rest);
      problems.add(measure.problem);
      expect(measure.problem).toBe(jsonTextProblem(whole, LIMITS));
    }),
    { numRuns: 2000 },
  );
  expect(problems.size).toBeGreaterThan(1);
});

it('the bytes of a text have the same problem as the text', () => {
  for (const text of ['["ä€𝄞\\"[[[[[[["]', '{"€":[[[[[[1]]]]]]}']) {
    const measure = new JsonMeasure(LIMITS);
    measure.add(Buffer.from(text).toString('latin1'));
    expect(measure.problem).toBe(jsonTextProblem(text, LIMITS));
  }
});
