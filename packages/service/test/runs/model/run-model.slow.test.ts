import { expect, it } from 'vitest';
import { checkGenerated } from '../../../../../scripts/test/documents.js';
import { explore } from './explore.js';
import { DESIGN, runModel } from './run-model.js';

it('the design keeps its laws with a second call, and with each fault twice', () => {
  const one = { calls: 1, areRepeatable: false, crashes: 1, lapses: 1, losses: 1 };
  const lines = Object.entries({
    'two calls': { ...one, calls: 2 },
    'two processes end': { ...one, crashes: 2 },
    'two leases end': { ...one, lapses: 2 },
    'the log is lost twice': { ...one, losses: 2 },
  }).map(([name, bounds]) => {
    const { states, refutation } = explore(runModel(DESIGN, bounds));
    expect(refutation, name).toBeUndefined();
    return `${name}: ${states} states, no law is broken`;
  });
  checkGenerated('docs/explanation/model.md', 'design-wider', lines.join('\n'), (found, expected) =>
    expect(found).toBe(expected),
  );
});
