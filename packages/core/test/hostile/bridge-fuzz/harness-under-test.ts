import { rm } from 'node:fs/promises';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import {
  createHarness,
  type Harness,
  type Limits,
  type LimitsInput,
  type Outcome,
  type StreamEvent,
} from '@toolscript/core';
import { QuickJsPool } from '@toolscript/core/internal';
import { bundleThread } from './bundle-thread.js';
import type { FuzzCase } from './fuzz-case.js';
import { fuzzTools, HostRecord } from './fuzz-tools.js';
import type { CaseReport } from './guest-under-test.js';
import { judgeRun } from './host-oracle.js';
import { isForeign, renderScript } from './script-tree.js';
import { ThreadMemory, type ThreadFault } from './thread-memory.js';

/** The settings of a case, to which its own changes are added. */
const CASE_LIMITS = {
  timeoutMs: 1_000,
  computeMs: 300,
  memoryMb: 4,
  maxStackBytes: 131_072,
  maxSourceBytes: 65_536,
  maxToolCalls: 1_000,
  maxConcurrentToolCalls: 64,
} as const satisfies Partial<LimitsInput>;

/** For scripts that must succeed on any busy machine. */
const PATIENT = { timeoutMs: 120_000, computeMs: 60_000, queueWaitMs: 120_000 } as const;

const PROBE =
  'const { n } = await tools.echo({ n: 41 });\nreturn [n + 1, typeof leak, Object.keys(globalThis).length];';
const PROBE_VALUE = '[42,"undefined",0]';

/** A script that waits next to the case. The case must not affect its memory and its promise. */
const NEIGHBOUR = `const kept = { list: Array.from({ length: 100 }, (_, n) => ({ n })) };
const [first, held] = await Promise.all([tools.echo({ n: 1 }), tools.hold({})]);
return [first.n, held, kept.list.length, kept.list[99].n, typeof leak];`;
const NEIGHBOUR_VALUE = '[1,"released",100,99,"undefined"]';

/** A maximum and not a measurement: after this time, the outcome never arrives. */
const NO_OUTCOME_MS = 60_000;
/**
 * The maximum time for which one case may block the host's event loop, and the number of repetitions of a case that
 * did: the best counts. It is many times the usual time of a correct host, so load on the machine does not count as a
 * fault.
 */
const HELD_MS = 1_000;
const HELD_TRIES = 6;
/**
 * A worker is replaced after it has dropped 1 GiB of instances, and no instance of a case is larger than this fraction.
 */
const DROPS_BEFORE_REPLACED = 128;

/**
 * Runs cases through a whole harness and its worker pool, and checks for every case the guarantees that a host relies
 * on.
 */
export class HarnessUnderTest {
  readonly #thread: ThreadMemory;
  readonly #harness: Harness;
  readonly #folder: string;
  readonly #internal: string[] = [];
  readonly #unhandled: string[] = [];
  readonly #onUnhandled = (reason: unknown) => void this.#unhandled.push(String(reason));
  readonly #delay = monitorEventLoopDelay({ resolution: 5 });
  /** The ends of scripts, and their events, that the cases reached. */
  readonly reached = new Set<string>();
  #release: (value: unknown) => void = () => {};
  #isHolding: () => void = () => {};

  private constructor(thread: ThreadMemory, entry: URL, folder: string) {
    this.#thread = thread;
    this.#folder = folder;
    this.#harness = createHarness({
      typecheck: 'off',
      tools: fuzzTools(() => this.#hold()),
      expose: { spawn: true },
      runtime: new QuickJsPool({ size: 1 }, entry),
      onInternalError: (detail) => this.#internal.push(detail),
    });
    process.on('unhandledRejection', this.#onUnhandled);
    this.#delay.enable();
  }

  /** Opens the harness. `fault`: a planted fault that the campaign must find. */
  static async open(fault?: ThreadFault): Promise<HarnessUnderTest> {
    const thread = ThreadMemory.share(fault);
    const { entry, folder } = await bundleThread(new URL('fuzz-thread.ts', import.meta.url));
    const harness = new HarnessUnderTest(thread, entry, folder);
    await harness.#harness.warm();
    return harness;
  }

  async close(): Promise<void> {
    this.#delay.disable();
    process.off('unhandledRejection', this.#onUnhandled);
    await this.#harness.close();
    await rm(this.#folder, { recursive: true, force: true });
  }

  async run(fuzzCase: FuzzCase): Promise<CaseReport> {
    let { report, heldMs } = await this.#runOnce(fuzzCase);
    for (let tries = 1; heldMs > HELD_MS && tries < HELD_TRIES && report.violations.length === 0; tries++) {
      const again = await this.#runOnce(fuzzCase);
      if (again.heldMs < heldMs || again.report.violations.length > 0) ({ report, heldMs } = again);
    }
    if (heldMs <= HELD_MS) return report;
    return { ...report, violations: [...report.violations, `the host's event loop was held for ${heldMs} ms`] };
  }

  /** Runs a case next to another script that waits, and before another script that uses the same sandbox. */
  async #runOnce(fuzzCase: FuzzCase): Promise<{ report: CaseReport; heldMs: number }> {
    const source = renderScript(fuzzCase.statements, fuzzCase.ending);
    this.#thread.clear();
    const holding = new Promise<void>((resolve) => (this.#isHolding = resolve));
    const neighbour = this.#harness.runScript(NEIGHBOUR, { limits: PATIENT });
    await Promise.race([holding, neighbour]);
    this.#delay.reset();
    const violations = await this.#play(fuzzCase, source);
    const heldMs = Math.round(this.#delay.max / 1e6);
    this.#release('released');
    violations.push(
      ...wrongValue('the script beside it', await neighbour, NEIGHBOUR_VALUE),
      ...wrongValue('the next script', await this.#harness.runScript(PROBE, { limits: PATIENT }), PROBE_VALUE),
      ...this.#takeFaults(),
    );
    return { report: { source, violations, features: [], ranOut: this.#thread.ranOut, passed: new Map() }, heldMs };
  }

  async #play(fuzzCase: FuzzCase, source: string): Promise<string[]> {
    const limits = limitsOf(fuzzCase);
    const host = new HostRecord(fuzzCase.settling);
    const events: StreamEvent[] = [];
    const plan = { faults: fuzzCase.faults, memory: limits.memoryMb * 1_048_576, stack: limits.maxStackBytes };
    const ending = this.#harness.runScript(source, {
      app: host,
      limits,
      approvals: (request) => host.decide(request),
      context: { fuzz: plan as never },
      onEvent: (event) => events.push(event),
    });
    const outcome = await within(ending, NO_OUTCOME_MS);
    if (outcome === undefined) return [`there is no outcome after ${NO_OUTCOME_MS} ms`];
    for (const { payload } of events) this.reached.add(payload.type);
    this.reached.add(outcome.status === 'failed' ? outcome.error.code : outcome.status);
    const isForeignCase = isForeign([...fuzzCase.statements, fuzzCase.ending]);
    const all = { ...this.#harness.limits, ...limits } as Limits;
    return judgeRun({ source, isForeign: isForeignCase, limits: all, outcome, events, host, thread: this.#thread });
  }

  /** Faults outside of the scripts since the last case, which this call removes. */
  #takeFaults(): string[] {
    const { workersReplaced, instancesDropped } = this.#harness.stats().sandbox;
    const faults = [
      ...this.#internal.splice(0).map((detail) => `Toolscript itself failed: ${detail}`),
      ...this.#unhandled.splice(0).map((reason) => `a rejection that nobody handles: ${reason}`),
    ];
    if (workersReplaced > instancesDropped / DROPS_BEFORE_REPLACED)
      faults.push(`${workersReplaced} workers were replaced, and ${instancesDropped} instances dropped`);
    return faults;
  }

  #hold(): Promise<unknown> {
    const released = new Promise((resolve) => (this.#release = resolve));
    this.#isHolding();
    return released;
  }
}

function limitsOf({ limits }: FuzzCase): Partial<LimitsInput> & typeof CASE_LIMITS {
  const { maxCalls = CASE_LIMITS.maxToolCalls, maxOutputBytes: _output, ...others } = limits;
  return { ...CASE_LIMITS, ...others, maxToolCalls: maxCalls } as never;
}

function wrongValue(what: string, outcome: Outcome, due: string): string[] {
  const value = outcome.status === 'completed' ? JSON.stringify(outcome.value) : JSON.stringify(outcome);
  return value === due ? [] : [`${what} gives ${value.slice(0, 500)} instead of ${due}`];
}

async function within<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => (timer = setTimeout(resolve, ms, undefined)));
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
