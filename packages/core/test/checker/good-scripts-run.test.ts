import { afterAll, describe, expect, it } from 'vitest';
import type { Outcome } from '#core/protocol/index.js';
import { badScripts, goodScripts } from './corpus.js';
import { worldHarness } from './world-harness.js';

const good = goodScripts();
const bad = badScripts();
let ran = 0;

const { harness, run } = worldHarness({ typecheck: 'off', limits: { maxToolCalls: 200 } });
afterAll(() => harness.close());

function answerOf(outcome: Outcome): unknown {
  if (outcome.status !== 'completed')
    expect.fail(JSON.stringify(outcome.status === 'failed' ? outcome.error : outcome.status));
  expect(outcome.value).toBeDefined();
  return { value: outcome.value, output: outcome.output };
}

it('a script that fails, or returns nothing, does not count as good', async () => {
  expect(() => answerOf({ status: 'completed', value: undefined } as Outcome)).toThrow();
  const outcome = await run('return (await tools.getWeather({ city: "Atlantis" })).celsius');
  expect(() => answerOf(outcome)).toThrow(/unknown city/u);
});

describe('a good script runs, twice with the same answer', () => {
  it.each(good)('$name', async ({ source }) => {
    const first = answerOf(await run(source));
    expect(answerOf(await run(source))).toEqual(first);
    ran += 1;
  });
});

it('all of at least 130 good scripts ran', () => {
  expect(good.length).toBeGreaterThanOrEqual(130);
  expect(ran).toBe(good.length);
});

it('every good script names the author whose style it has', () => {
  for (const { name, source } of good) expect(source, name).toMatch(/^\/\/ style: .+\n/u);
});

it('each of at least 90 bad scripts names existing lines', () => {
  expect(bad.length).toBeGreaterThanOrEqual(90);
  for (const { name, source, lines } of bad) {
    expect(lines.length, name).toBeGreaterThan(0);
    for (const line of lines) expect(line, name).toBeLessThanOrEqual(source.split('\n').length);
  }
  expect(bad.filter(({ mayWarn }) => mayWarn).length).toBeLessThanOrEqual(bad.length / 8);
});
