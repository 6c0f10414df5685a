import { makeCase, mutateCase, type FuzzCase } from './fuzz-case.js';
import type { CaseReport, GuestUnderTest } from './guest-under-test.js';
import type { HarnessUnderTest } from './harness-under-test.js';
import { Random } from './random.js';
import { callsThatAsk, sweepFaults, sweepLines } from './sweep.js';

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
  /** Cases that reached new code. */
  readonly kept: readonly FuzzCase[];
}

export interface CampaignOptions {
  readonly seed: number;
  readonly cases: number;
  /** Guests that take turns. The first guest leads the search: it counts its blocks, and its lines can fail. */
  readonly guests: readonly GuestUnderTest[];
  readonly maxFindings: number;
}

/** Cases that reached new code, up to the maximum. */
const MAX_KEPT = 2_000;

/**
 * Generates new cases, changes cases that reached new code, and takes cases from the sweeps of faults and of failing
 * lines. Its behaviour depends only on the seed and the code: scripts are stopped by the work that they have done,
 * never by a clock.
 */
export async function runCampaign(options: CampaignOptions): Promise<CampaignReport> {
  const random = new Random(options.seed);
  const reached = new Set<string>();
  const kept: FuzzCase[] = [];
  const findings: Finding[] = [];
  const generator = generated(kept, random);
  const makers = [sweptFaults(random), generator, sweptLines(random), generator];
  let ranOut = 0;
  for (let index = 0; index < options.cases && findings.length < options.maxFindings; index++) {
    const maker = makers[index % makers.length]!;
    const fuzzCase = maker.next();
    const turn = Math.floor(index / makers.length) % options.guests.length;
    const report = options.guests[maker.isForFirst === true ? 0 : turn]!.run(fuzzCase);
    maker.ran?.(report);
    if (report.ranOut) ranOut++;
    if (report.violations.length > 0) findings.push({ index, fuzzCase, report });
    const found = report.features.filter((feature) => !reached.has(feature));
    for (const feature of found) reached.add(feature);
    if (found.length > 0 && kept.length < MAX_KEPT) kept.push(fuzzCase);
    // A test runner needs the event loop from time to time.
    if (index % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  return { cases: options.cases, features: reached.size, ranOut, findings, kept };
}

export interface HarnessCampaignOptions {
  readonly seed: number;
  readonly cases: number;
  readonly harness: HarnessUnderTest;
  /** The initial cases, in addition to generated ones. */
  readonly kept: readonly FuzzCase[];
  readonly maxFindings: number;
}

/**
 * The same kinds of cases through a whole harness. The seed determines the cases; their course also depends on the
 * machine.
 */
export async function runHarnessCampaign(options: HarnessCampaignOptions): Promise<readonly Finding[]> {
  const random = new Random(options.seed);
  const findings: Finding[] = [];
  const makers = [sweptFaults(random), generated(options.kept, random), generated(options.kept, random)];
  for (let index = 0; index < options.cases && findings.length < options.maxFindings; index++) {
    const maker: CaseMaker = index === 0 ? { next: callsThatAsk } : makers[index % makers.length]!;
    const fuzzCase = maker.next();
    const report = await options.harness.run(fuzzCase);
    maker.ran?.(report);
    if (report.violations.length > 0) findings.push({ index, fuzzCase, report });
  }
  return findings;
}

/** Generates one case at a time; may receive the result of the last one. */
interface CaseMaker {
  next(): FuzzCase;
  ran?(report: CaseReport): void;
  /** True: the cases are valid only in the first guest. */
  readonly isForFirst?: true;
}

function sweptFaults(random: Random): CaseMaker {
  const sweep = sweepFaults(random);
  let swept = sweep.next();
  return { next: () => swept.value, ran: ({ ranOut }) => (swept = sweep.next(ranOut)) };
}

function sweptLines(random: Random): CaseMaker {
  const sweep = sweepLines(random);
  let swept = sweep.next();
  return { next: () => swept.value, ran: ({ passed }) => (swept = sweep.next(passed)), isForFirst: true };
}

function generated(kept: readonly FuzzCase[], random: Random): CaseMaker {
  const isNew = () => kept.length === 0 || random.oneIn(5);
  return { next: () => (isNew() ? makeCase(random) : mutateCase(random.pick(kept), random.pick(kept), random)) };
}
