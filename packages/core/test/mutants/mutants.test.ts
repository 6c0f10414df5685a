import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createHarness, type Harness } from '#core/index.js';
import type { Outcome, Tool } from '#core/protocol/index.js';
import { goodScripts } from '../checker/corpus.js';
import { makeWorld } from '../checker/world.js';
import { makeMutants, type Mutant } from './mutants.js';
import { OPERATORS } from './operators.js';

/** Of the mutants that behave otherwise than their script, the part that is refused before any call. */
const LEAST_REFUSED = { 'with output schemas': 0.64, 'without output schemas': 0.52 };
const LEAST_MUTANTS = 300;
const PER_OPERATOR = 14;

type World = ReadonlyMap<string, Tool>;

/** Runs without the checker; each run brings its own world along. */
let running: Harness;
let checking: Record<keyof typeof LEAST_REFUSED, Harness>;
const mutants = makeMutants(goodScripts(), makeWorld(), PER_OPERATOR);
let different: Mutant[] = [];

beforeAll(async () => {
  running = createHarness({
    tools: makeWorld().map((tool) => ({
      ...tool,
      execute: (input, call) => (call.app as World).get(tool.name)?.execute(input, call),
    })),
    approvals: 'auto',
    typecheck: 'off',
    limits: { maxToolCalls: 200, timeoutMs: 2_000 },
  });
  const { validateOutput } = makeWorld().find(({ outputSchema }) => outputSchema === undefined) as Tool;
  checking = {
    'with output schemas': createHarness({ tools: makeWorld(), approvals: 'auto', mode: 'dry-run' }),
    'without output schemas': createHarness({
      tools: makeWorld().map((tool) => ({ ...tool, outputSchema: undefined, validateOutput })),
      approvals: 'auto',
      mode: 'dry-run',
    }),
  };
  different = await thoseThatDiffer();
});

afterAll(async () => {
  await running.close();
  await Promise.all(Object.values(checking).map((harness) => harness.close()));
});

async function thoseThatDiffer(): Promise<Mutant[]> {
  const originals = new Map<string, string>();
  const found: Mutant[] = [];
  for (const mutant of mutants) {
    const before = originals.get(mutant.of) ?? (await behaviourOf(mutant.original));
    originals.set(mutant.of, before);
    if ((await behaviourOf(mutant.source)) !== before) found.push(mutant);
  }
  return found;
}

/** What a script does: its calls, how each ended, its value and its output. */
async function behaviourOf(source: string): Promise<string> {
  const app: World = new Map(makeWorld().map((tool) => [tool.name, tool]));
  const outcome = await running.runScript(source, { app, context: { workingDirectory: '/project' } });
  const calls = outcome.operations.map(({ tool, input, status }) => [tool, input, status]);
  const end = outcome.status === 'completed' ? { value: outcome.value } : { status: outcome.status };
  return JSON.stringify([calls, end, outcome.output]);
}

const isRefused = (outcome: Outcome) => outcome.status === 'failed';

it(`the operators, each of them, make mutants, and ${LEAST_MUTANTS} of these behave otherwise than their scripts`, () => {
  expect(different.length).toBeGreaterThanOrEqual(LEAST_MUTANTS);
  const made = new Set(mutants.map(({ operator }) => operator));
  expect(OPERATORS.filter(({ name }) => !made.has(name)).map(({ name }) => name)).toEqual([]);
  // What is repaired behaves as it should have: it is told from the others by running it.
  expect(different.filter(({ operator }) => operator === 'tools left out')).toEqual([]);
});

it('mutants are the same each time', () => {
  expect(makeMutants(goodScripts(), makeWorld(), PER_OPERATOR)).toEqual(mutants);
});

describe('mutants are refused before any call', () => {
  it.each(Object.entries(LEAST_REFUSED))('%s: at least a share of %s', async (which, least) => {
    const harness = checking[which as keyof typeof LEAST_REFUSED];
    const missed: Mutant[] = [];
    for (const mutant of different) if (!isRefused(await harness.runScript(mutant.source))) missed.push(mutant);
    const share = 1 - missed.length / different.length;
    const report = `${which}: ${different.length - missed.length} of ${different.length} refused\n${byOperator(missed)}`;
    console.log(report);
    const file = process.env['MISSED_MUTANTS'];
    if (file !== undefined) writeFileSync(`${file}-${which.replaceAll(' ', '-')}.json`, JSON.stringify(missed));
    expect(share, report).toBeGreaterThanOrEqual(least);
  });

  it('no good script is refused', async () => {
    for (const harness of Object.values(checking))
      for (const { name, source } of goodScripts())
        expect(isRefused(await harness.runScript(source)), name).toBe(false);
  });
});

function byOperator(missed: readonly Mutant[]): string {
  return OPERATORS.map(({ name }) => {
    const all = different.filter(({ operator }) => operator === name).length;
    const left = missed.filter(({ operator }) => operator === name);
    return left.length === 0
      ? ''
      : `- ${name}: ${all - left.length} of ${all}; missed in ${left.map((each) => each.of).join(', ')}\n`;
  }).join('');
}
