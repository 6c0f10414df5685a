import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { runCampaign, type Finding } from './bridge-fuzz/campaign.js';
import type { FuzzCase } from './bridge-fuzz/fuzz-case.js';
import { buildGuest, countBlocks } from './bridge-fuzz/guest-images.js';
import { GuestUnderTest } from './bridge-fuzz/guest-under-test.js';

/** `npm run fuzz:bridge` sets these. */
const { FUZZ_CASES, FUZZ_SEED = '1', FUZZ_REPLAY, CI } = process.env;
const CASES = Number(FUZZ_CASES ?? (CI === undefined ? 300 : 2_000));
const SEED = Number(FUZZ_SEED);
/** Far more than a case takes on a busy machine. */
const TIMEOUT_MS = 120_000 + CASES * 200;

/** What a person needs to see the fault again. */
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

describe('the bridge between guest and host', () => {
  let counted: GuestUnderTest;
  let shipped: GuestUnderTest;

  beforeAll(async () => {
    counted = await GuestUnderTest.open(await buildGuest(countBlocks));
    shipped = await GuestUnderTest.open();
  });

  it.skipIf(FUZZ_REPLAY !== undefined)(
    'keeps its promises for generated hostile scripts and for faults at any moment',
    async () => {
      const report = await runCampaign({ seed: SEED, cases: CASES, guests: [counted, shipped], maxFindings: 1 });
      if (FUZZ_CASES !== undefined)
        console.log(`${report.cases} cases, ${report.features} things reached, room ran out in ${report.ranOut}`);
      expect(report.findings.map(describeFinding).join('\n\n')).toBe('');
      // A generator whose scripts or faults do nothing would find nothing.
      expect(report.features).toBeGreaterThan(300);
      expect(report.ranOut).toBeGreaterThan(CASES / 20);
    },
    TIMEOUT_MS,
  );

  it.skipIf(FUZZ_REPLAY === undefined)('keeps its promises for the one case that is run again', () => {
    const fuzzCase = JSON.parse(readFileSync(FUZZ_REPLAY!, 'utf8')) as FuzzCase;
    for (const guest of [counted, shipped]) expect(guest.run(fuzzCase).violations).toEqual([]);
  });
});

const without = (text: string | RegExp) => (bootstrap: string) => {
  const changed = bootstrap.replace(text, '');
  if (changed === bootstrap) throw new Error('the bootstrap has no such line any more');
  return changed;
};
const withText = (from: string, to: string) => (bootstrap: string) => {
  if (!bootstrap.includes(from)) throw new Error('the bootstrap has no such line any more');
  return bootstrap.replace(from, to);
};

describe.skipIf(FUZZ_CASES !== undefined || FUZZ_REPLAY !== undefined)('a fault planted in the bridge', () => {
  it.each([
    ['a budget that nested calls exceed', without(/\/\/ defence: budget-after-arguments\n.*\n/u)],
    ['arguments that are cut', withText('text += stringify(member);', 'text += stringify(slice(member, 0, 20));')],
    [
      'calls that are told twice',
      without(/outboxCalls = \[\];\n\s*outboxArguments = \[\];\n\s*outboxUnits = 0;\n\s*(?=return one)/u),
    ],
  ])('is found within few cases: %s', async (_name, plant) => {
    const guest = await GuestUnderTest.open(await buildGuest((bootstrap) => countBlocks(plant(bootstrap))));
    const { findings } = await runCampaign({ seed: 1, cases: 1_000, guests: [guest], maxFindings: 1 });
    expect(findings).toHaveLength(1);
  });
});
