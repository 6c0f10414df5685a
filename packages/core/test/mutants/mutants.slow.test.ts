import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createHarness, type Harness } from '#core/index.js';
import type { Outcome, Tool } from '#core/protocol/index.js';
import { goodScripts } from '../checker/corpus.js';
import { WORLD } from '../checker/world.js';
import { worldHarness, type WorldHarness } from '../checker/world-harness.js';
import { peerScripts } from '../corpus/peer-scripts.js';
import { PEER_WORLD } from '../corpus/peer-world.js';
import { makeMutants, type Mutant } from './mutants.js';
import { OPERATORS } from './operators.js';

/**
 * The share of differently behaving mutants that is rejected before any call. A few in a hundred more or less are
 * rejected where the corpora grow, because each operator then changes other scripts.
 */
const MIN_REFUSED = { 'with output schemas': 0.86, 'without output schemas': 0.71 };
/** The share that is rejected, fails while it runs, or completes with a warning, which its script does not. */
const MIN_NOTICED = { 'with output schemas': 0.96, 'without output schemas': 0.95 };
const MIN_MUTANTS = 300;
const PER_OPERATOR = 12;
const BATCH = 8;
const HOOK_MS = 600_000;

/** A mutant may loop without end. */
const LIMITS = { maxToolCalls: 100, computeMs: 500, timeoutMs: 10_000 };

const PARTS = [...WORLD, ...PEER_WORLD];
const makeWorld = (): Tool[] => PARTS.flatMap((makeTools) => makeTools());

/** The same tools, of whose results only what was observed is known. */
const WITHOUT_SCHEMAS = PARTS.map((makeTools) => () => {
  const { validateOutput } = makeWorld().find(({ outputSchema }) => outputSchema === undefined) as Tool;
  return makeTools().map((tool) => ({ ...tool, outputSchema: undefined, validateOutput }));
});

/** The first character of a call in another notation, which has no TypeScript to mutate. */
const IS_NOTATION = /^\s*[<[{`|]/u;

/** Scripts of both corpora in turn, so that each operator meets both. */
function baseScripts(): { name: string; source: string }[] {
  const good = goodScripts();
  const peers = peerScripts()
    .filter(
      ({ script, expected }) => expected.gives !== undefined && /\btools\./u.test(script) && !IS_NOTATION.test(script),
    )
    .map(({ name, script }) => ({ name, source: script }));
  return Array.from({ length: Math.max(good.length, peers.length) }, (_, index) => [good[index], peers[index]])
    .flat()
    .filter((script) => script !== undefined);
}

/** Runs scripts whatever the checker says. Each run has its own world. */
let running: WorldHarness;
let checking: Record<keyof typeof MIN_REFUSED, Harness>;
const base = baseScripts();
const mutants = makeMutants(base, makeWorld(), PER_OPERATOR);
let different: Mutant[] = [];

beforeAll(async () => {
  running = worldHarness({ typecheck: 'warn', limits: LIMITS }, PARTS);
  const toolsOf = (parts: readonly (() => Tool[])[]) => parts.flatMap((makeTools) => makeTools());
  checking = {
    'with output schemas': createHarness({ tools: toolsOf(PARTS), approvals: 'auto', mode: 'dry-run' }),
    'without output schemas': createHarness({ tools: toolsOf(WITHOUT_SCHEMAS), approvals: 'auto', mode: 'dry-run' }),
  };
  different = await thoseThatDiffer();
}, HOOK_MS);

afterAll(async () => {
  await running.harness.close();
  await Promise.all(Object.values(checking).map((harness) => harness.close()));
});

async function thoseThatDiffer(): Promise<Mutant[]> {
  const originals = new Map(
    await inBatches(base, async ({ name, source }) => [name, await behaviourOf(source)] as const),
  );
  const differ = await inBatches(
    mutants,
    async (mutant) => (await behaviourOf(mutant.source)) !== originals.get(mutant.of),
  );
  return mutants.filter((_, index) => differ[index]);
}

/** The mutants that the check does not reject. */
async function thoseThatPass(which: keyof typeof MIN_REFUSED): Promise<Mutant[]> {
  const refused = await inBatches(different, async ({ source }) => isRefused(await checking[which].runScript(source)));
  return different.filter((_, index) => !refused[index]);
}

async function inBatches<T, R>(list: readonly T[], each: (item: T) => Promise<R>): Promise<R[]> {
  const done: R[] = [];
  for (let start = 0; start < list.length; start += BATCH)
    done.push(...(await Promise.all(list.slice(start, start + BATCH).map(each))));
  return done;
}

/** The behaviour of a script: its calls, how each ended, its value and its output. */
async function behaviourOf(source: string): Promise<string> {
  const outcome = await running.run(source);
  const calls = outcome.operations.map(({ tool, input, status }) => [tool, input, status]);
  const end = outcome.status === 'completed' ? { value: outcome.value } : { status: outcome.status };
  return JSON.stringify([calls, end, outcome.output]);
}

const isRefused = (outcome: Outcome) => outcome.status === 'failed';
const warningsOf = ({ diagnostics }: Outcome) =>
  diagnostics.flatMap(({ severity, message }) => (severity === 'warning' ? [message] : []));

/** True if a mutant fails, or has a warning, that its script has not. */
function isNoticed(outcome: Outcome, original: Outcome): boolean {
  if (outcome.status === 'failed') return outcome.error.message !== original.error?.message;
  const known = warningsOf(original);
  return warningsOf(outcome).some((message) => !known.includes(message));
}

it(`every operator makes mutants, and ${MIN_MUTANTS} of them behave differently from their scripts`, () => {
  expect(different.length).toBeGreaterThanOrEqual(MIN_MUTANTS);
  const made = new Set(mutants.map(({ operator }) => operator));
  expect(OPERATORS.filter(({ name }) => !made.has(name)).map(({ name }) => name)).toEqual([]);
  // A repaired mutant behaves as intended: running it distinguishes it from the others.
  expect(different.filter(({ operator }) => operator === 'tools left out')).toEqual([]);
});

it('mutants are the same each time', () => {
  expect(makeMutants(baseScripts(), makeWorld(), PER_OPERATOR)).toEqual(mutants);
});

describe('mutants are rejected before any call', () => {
  it.each(Object.entries(MIN_REFUSED))('%s: at least a share of %s', async (which, least) => {
    const missed = await thoseThatPass(which as keyof typeof MIN_REFUSED);
    const share = 1 - missed.length / different.length;
    const report = `${which}: ${different.length - missed.length} of ${different.length} refused\n${byOperator(missed)}`;
    console.log(report);
    const file = process.env['MISSED_MUTANTS'];
    if (file !== undefined) writeFileSync(`${file}-${which.replaceAll(' ', '-')}.json`, JSON.stringify(missed));
    expect(share, report).toBeGreaterThanOrEqual(least);
  });

  it.each(Object.entries(MIN_NOTICED))(
    '%s: at least a share of %s is noticed, at the latest by its outcome',
    async (which, least) => {
      const parts = which === 'with output schemas' ? PARTS : WITHOUT_SCHEMAS;
      const world = worldHarness({ limits: LIMITS }, parts);
      onTestFinished(() => world.harness.close());
      const passed = await thoseThatPass(which as keyof typeof MIN_REFUSED);
      const names = new Set(passed.map(({ of }) => of));
      const originals = new Map<string, Outcome>();
      // The second time, the results are known, as in a conversation that has used the tools.
      for (let time = 0; time < 2; time++)
        await inBatches(
          base.filter(({ name }) => names.has(name)),
          async ({ name, source }) => originals.set(name, await world.run(source)),
        );
      const noticed = await inBatches(passed, async ({ of, source }) =>
        isNoticed(await world.run(source), originals.get(of) as Outcome),
      );
      const missed = passed.filter((_, index) => !noticed[index]);
      const report = `${which}: ${different.length - missed.length} of ${different.length} noticed\n${byOperator(missed)}`;
      console.log(report);
      expect(1 - missed.length / different.length, report).toBeGreaterThanOrEqual(least);
    },
  );

  it('no good script is rejected', async () => {
    for (const harness of Object.values(checking)) {
      const refused = await inBatches(base, async ({ source }) => isRefused(await harness.runScript(source)));
      expect(base.filter((_, index) => refused[index]).map(({ name }) => name)).toEqual([]);
    }
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
