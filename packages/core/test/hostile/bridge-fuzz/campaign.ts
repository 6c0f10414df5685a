import { makeCase, mutateCase, type FuzzCase } from './fuzz-case.js';
import type { CaseReport, GuestUnderTest } from './guest-under-test.js';
import { Random } from './random.js';
import { sweepFaults } from './sweep.js';

export interface Finding {
  readonly index: number;
  readonly fuzzCase: FuzzCase;
  readonly report: CaseReport;
}

export interface CampaignReport {
  readonly cases: number;
  readonly features: number;
  readonly ranOut: number;
  readonly findings: readonly Finding[];
}

export interface CampaignOptions {
  readonly seed: number;
  readonly cases: number;
  /** Guests that take turns. One that counts its blocks leads the search. */
  readonly guests: readonly GuestUnderTest[];
  readonly maxFindings: number;
}

/** Cases that reached something new, as far as they are kept. */
const MAX_KEPT = 2_000;

/**
 * Makes cases out of nothing, out of those that reached something new, and from the sweep of faults. What it does follows from the seed and
 * the code alone: scripts are stopped by the work that they have done, never by a clock.
 */
export async function runCampaign(options: CampaignOptions): Promise<CampaignReport> {
  const random = new Random(options.seed);
  const reached = new Set<string>();
  const kept: FuzzCase[] = [];
  const findings: Finding[] = [];
  const sweep = sweepFaults(random);
  let swept = sweep.next();
  let ranOut = 0;
  for (let index = 0; index < options.cases && findings.length < options.maxFindings; index++) {
    const isSwept = index % 3 === 0;
    const fuzzCase = isSwept ? swept.value : nextCase(kept, random);
    const report = options.guests[Math.floor(index / 3) % options.guests.length]!.run(fuzzCase);
    if (isSwept) swept = sweep.next(report.ranOut);
    if (report.ranOut) ranOut++;
    if (report.violations.length > 0) findings.push({ index, fuzzCase, report });
    const found = report.features.filter((feature) => !reached.has(feature));
    for (const feature of found) reached.add(feature);
    if (found.length > 0 && kept.length < MAX_KEPT) kept.push(fuzzCase);
    // A test runner wants a turn now and then.
    if (index % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  return { cases: options.cases, features: reached.size, ranOut, findings };
}

function nextCase(kept: readonly FuzzCase[], random: Random): FuzzCase {
  if (kept.length === 0 || random.oneIn(5)) return makeCase(random);
  return mutateCase(random.pick(kept), random.pick(kept), random);
}
