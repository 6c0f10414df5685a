import { describe, expect, it } from 'vitest';
import { checkGenerated } from '../../../../../scripts/test/documents.js';
import { explore, type Exploration } from './explore.js';
import { DESIGN, runModel, type Bounds, type Rules } from './run-model.js';

const PAGE = 'docs/explanation/model.md';
const TWO_CALLS: Bounds = { calls: 2, areRepeatable: false, crashes: 1, lapses: 1, losses: 1 };
const ONE_CALL: Bounds = { ...TWO_CALLS, calls: 1 };
const DOCUMENT: Bounds = { ...ONE_CALL, areRepeatable: true };

const without = (rule: keyof Rules, bounds: Bounds) => explore(runModel({ ...DESIGN, [rule]: false }, bounds));

function shown({ states, refutation }: Exploration): string {
  if (refutation === undefined) return `${states} states, no law is broken`;
  return [...refutation.steps.map((step, index) => `${index + 1}. ${step}`), `=> ${refutation.law}`].join('\n');
}

const check = (name: string, found: Exploration) =>
  checkGenerated(PAGE, name, shown(found), (text, expected) => expect(text).toBe(expected));

describe('every order of the steps of two workers, a log and a database', () => {
  it('keeps the laws of the design', () => {
    const figures = [ONE_CALL, DOCUMENT].map((bounds) => shown(explore(runModel(DESIGN, bounds))));
    const text = `a call: ${figures[0]}\na repeatable call: ${figures[1]}`;
    checkGenerated(PAGE, 'design', text, (found, expected) => expect(found).toBe(expected));
    expect(text.match(/no law is broken/gu)).toHaveLength(2);
  });

  it.each([
    ['linksScripts', ONE_CALL, 'effect 0 has happened twice'],
    ['asksStore', ONE_CALL, 'effect 0 has happened twice'],
    ['remembersChanges', DOCUMENT, 'effect 0 has happened twice'],
    ['fencesFirstIntents', ONE_CALL, 'effect 0 has happened twice'],
    ['fencesIntents', TWO_CALLS, 'effect 1 has happened twice'],
    ['storesIntents', ONE_CALL, 'effect 0 has happened twice'],
    [
      'confirmsClaims',
      { ...TWO_CALLS, crashes: 0 },
      'effect 0 has happened, and the run has ended without a report of it',
    ],
  ] as const)('breaks a law without the rule %s', (rule, bounds, law) => {
    const found = without(rule, bounds);
    expect(found.refutation?.law).toBe(law);
    check(rule, found);
  });

  it('keeps the laws if scripts have their own store, and workers confirm their claims after the first intent', () => {
    const rules = { ...DESIGN, fencesFirstIntents: false, confirmsFirstIntents: true };
    const found = explore(runModel(rules, TWO_CALLS));
    expect(found.refutation).toBeUndefined();
    check('confirmsFirstIntents', found);
  });

  it('keeps the laws if the log gets the events after the first intent', () => {
    const found = without('flushesEvents', ONE_CALL);
    expect(found.refutation).toBeUndefined();
    check('flushesEvents', found);
  });
});
