import { afterAll, expect, it } from 'vitest';
import { bundleGuest } from '../../build/bundle-guest.mjs';
import { FLOWS, judgeProgram, programOf } from './flow-oracle.js';
import { closeLabelRuns } from './label-runs.js';

afterAll(closeLabelRuns);

const members = (owner: string, names: string) => names.split(' ').map((name) => `${owner}.${name}`);

/**
 * Built-in functions that have a model in the label runtime. Without theirs, iterators, `bind` and functions that native code
 * calls get every source, which misses nothing.
 */
const MODELS: readonly string[] = [
  ...members('Array.prototype', 'map filter find some flatMap reduce sort toSorted push pop shift unshift splice'),
  ...members('Array.prototype', 'reverse fill slice concat at'),
  ...members('Map.prototype', 'get set'),
  ...members('WeakMap.prototype', 'get set'),
  ...members('Object', 'keys values entries fromEntries assign create defineProperty'),
  ...members('Reflect', 'apply get'),
  ...members('Function.prototype', 'call'),
  ...members('Promise', 'all allSettled any resolve'),
  ...members('Promise.prototype', 'then'),
  'Array.from',
];

const FORGET = `const r = Reflect.apply(f, th, v);
  if (r instanceof Promise) promises.set(r, { get: () => 0 });
  R.l = 0;
  return r;`;

/** The label runtime, in which the model of one built-in function says that its result has no sources. */
const brokenRuntime = (name: string) =>
  bundleGuest({
    entry: '../labels/main.js',
    change: (path: string, source: string) =>
      path.endsWith('models.js') ? `${source}\nmodels.set(${name}, (f, lf, th, lth, v) => { ${FORGET} });` : source,
  });

it('misses no flow with all models', async () => {
  expect((await judgeProgram(programOf(FLOWS))).missed).toEqual([]);
});

it.each(MODELS)('the oracle notices that the model of %s forgets its sources', { timeout: 300_000 }, async (name) => {
  const { missed } = await judgeProgram(programOf(FLOWS), await brokenRuntime(name));
  expect(missed).not.toEqual([]);
});
