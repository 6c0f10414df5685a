import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCampaign, runHarnessCampaign, type Finding } from './bridge-fuzz/campaign.js';
import type { FuzzCase } from './bridge-fuzz/fuzz-case.js';
import { buildInstrumented, type PlantedFault } from './bridge-fuzz/guest-images.js';
import { GuestUnderTest } from './bridge-fuzz/guest-under-test.js';
import { HarnessUnderTest } from './bridge-fuzz/harness-under-test.js';
import type { ThreadFault } from './bridge-fuzz/thread-memory.js';

/** `npm run fuzz:bridge` sets these. */
const { FUZZ_CASES, FUZZ_SEED = '1', FUZZ_REPLAY, CI } = process.env;
const CASES = Number(FUZZ_CASES ?? (CI === undefined ? 300 : 2_000));
/** The number of cases through a whole harness with its threads, which is slower. */
const HARNESS_CASES = Math.floor(CASES / 8);
const SEED = Number(FUZZ_SEED);
const isCampaign = FUZZ_CASES !== undefined;
const isReplay = FUZZ_REPLAY !== undefined;
/** Maximum time of the test, much longer than the cases take on a busy machine. */
const TIMEOUT_MS = 120_000 + CASES * 200;

/** The data to reproduce the fault. */
function describeFinding({ index, fuzzCase, report }: Finding): string {
  const file = join(mkdtempSync(join(tmpdir(), 'toolscript-fuzz-')), 'case.json');
  writeFileSync(file, JSON.stringify(fuzzCase));
  return [
    `case ${index} of seed ${SEED}: ${report.violations.join('; ')}`,
    `faults: ${JSON.stringify(fuzzCase.faults)}, limits: ${JSON.stringify(fuzzCase.limits)}`,
    report.source,
    `To run this case alone: npm run fuzz:bridge -- --replay ${file}`,
  ].join('\n');
}

const describeAll = (findings: readonly Finding[]) => findings.map(describeFinding).join('\n\n');

describe('the bridge between guest and host', () => {
  let counted: GuestUnderTest;
  let shipped: GuestUnderTest;
  let harness: HarnessUnderTest;
  let kept: readonly FuzzCase[] = [];

  beforeAll(async () => {
    counted = await GuestUnderTest.open(await buildInstrumented());
    shipped = await GuestUnderTest.open();
    harness = await HarnessUnderTest.open();
  });
  afterAll(() => harness.close());

  it.skipIf(isReplay)(
    'keeps its laws for generated hostile scripts and for faults at any moment',
    async () => {
      const cases = CASES - HARNESS_CASES;
      const report = await runCampaign({ seed: SEED, cases, guests: [counted, shipped], maxFindings: 1 });
      kept = report.kept;
      if (isCampaign)
        console.log(`${report.cases} cases, ${report.features} things reached, room ran out in ${report.ranOut}`);
      expect(describeAll(report.findings)).toBe('');
      // A generator without working scripts or faults would find no violation.
      expect(report.features).toBeGreaterThan(300);
      expect(report.ranOut).toBeGreaterThan(CASES / 20);
    },
    TIMEOUT_MS,
  );

  it.skipIf(isReplay)(
    'keeps its laws in a whole harness with its threads, for all that the host sees of a script',
    async () => {
      const findings = await runHarnessCampaign({ seed: SEED, cases: HARNESS_CASES, harness, kept, maxFindings: 1 });
      if (isCampaign) console.log(`${HARNESS_CASES} cases in a harness: ${[...harness.reached].toSorted().join(', ')}`);
      expect(describeAll(findings)).toBe('');
      const due = ['completed', 'ScriptMemoryError', 'tool_call_done', 'approval_resolved'];
      expect([...harness.reached]).toEqual(expect.arrayContaining(due));
    },
    TIMEOUT_MS,
  );

  it.skipIf(!isReplay)('keeps its laws for the one case that is repeated', async () => {
    const fuzzCase = JSON.parse(readFileSync(FUZZ_REPLAY!, 'utf8')) as FuzzCase;
    for (const guest of [counted, shipped, harness]) expect((await guest.run(fuzzCase)).violations).toEqual([]);
  });
});

const without = (module: string, text: string | RegExp): PlantedFault => replacing(module, text, '');
const replacing = (module: string, from: string | RegExp, to: string): PlantedFault => ({
  module,
  change: (source) => {
    const changed = source.replace(from, to);
    if (changed === source) throw new Error(`${module} does not contain the text of this fault; update the fault`);
    return changed;
  },
});

describe.skipIf(isCampaign || isReplay)('a fault planted in the bridge', () => {
  // The seeds that find the fault in the fewest cases.
  it.each([
    [3, 'a budget that nested calls exceed', without('bridge/calls.ts', /\/\/ defence: budget-after-arguments\n.*\n/u)],
    [
      7,
      'arguments that are cut',
      replacing('bridge/arguments.ts', 'text += stringify(member);', 'text += stringify(member.slice(0, 20));'),
    ],
    [1, 'calls that are told twice', without('bridge/outbox.ts', /emptyCalls\(\);\n\s*(?=return oneCall)/u)],
    [
      7,
      'a half-written call that stays when a line fails',
      without('bridge/calls.ts', 'outbox.calls.length = outbox.arguments.length = count;'),
    ],
    [
      7,
      'a call that is counted before it is whole',
      replacing(
        'bridge/calls.ts',
        /(outbox\.calls\[count\] = entry;[^]*)nextCall\+\+;\n(?=\s*outbox\.argumentUnits)/u,
        'nextCall++; $1',
      ),
    ],
  ] as const)('with seed %i is found within few cases: %s', async (seed, _name, fault) => {
    const guest = await GuestUnderTest.open(await buildInstrumented(fault));
    const { findings } = await runCampaign({ seed, cases: 1_000, guests: [guest], maxFindings: 1 });
    expect(findings).toHaveLength(1);
  });
});

describe.skipIf(isCampaign || isReplay)('a fault planted in a sandbox thread', () => {
  it.each<ThreadFault>(['changes arguments', 'skips cleaning', 'ends itself', 'repeats messages'])(
    'is found within a few cases: one that %s',
    async (fault) => {
      const harness = await HarnessUnderTest.open(fault);
      try {
        expect(await runHarnessCampaign({ seed: 1, cases: 100, harness, kept: [], maxFindings: 1 })).toHaveLength(1);
      } finally {
        await harness.close();
      }
    },
  );
});
