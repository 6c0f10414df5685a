import type {
  SandboxCall,
  SandboxLimits,
  SandboxRun,
  SandboxRuntime,
  SandboxSegment,
  Settlement,
  Tool,
} from '../../protocol/index.js';
import type { LabelledScript } from '../../script/label-rewrite/labelled-script.js';
import type { FollowedScript, TapeFollower } from './followed-script.js';
import { readReports, type CallReport } from './label-reports.js';
import { PAGE_TOOL, partPaths } from './result-parts.js';

/** Maximum CPU time of a copy, in ms, in all its segments. */
const COMPUTE_MS = 3_000;
/** Maximum time of one segment of a copy, in ms, and of its wait for a sandbox: for machines too busy to run it. */
const WALL_MS = 15_000;
const MAX_MEMORY_MB = 1_024;
const OUTPUT_BYTES = 16_777_216;
/** The member of a result that lists its parts, which the copy's runtime removes; see `sandbox/labels`. */
const PARTS = '\0parts';

export interface CopySettings extends FollowedScript {
  readonly script: LabelledScript;
  /** A runtime of its own: no copy ever waits for the sandbox of a script. */
  readonly runtime: SandboxRuntime;
  readonly tool: (name: string) => Tool | undefined;
}

/** The labels of one call: what the copy reports, and the arguments as the script sent them. */
export interface CallLabels {
  readonly report: CallReport;
  readonly argsJson: string;
  /** The index of the call in the script of each call that the copy reports. */
  readonly callIndexes: readonly number[];
}

/**
 * Runs a rewritten copy of a script beside it. The copy makes no calls: it receives the results that the script has
 * received, from its beginning, and must make the same calls with the same arguments, byte for byte. Then the labels of
 * its calls are those of the script's. A copy that makes another call, fails, or uses up its time, knows nothing from
 * there on.
 */
export class LabelledCopy implements TapeFollower {
  readonly #settings: CopySettings;
  readonly #run: SandboxRun;
  readonly #calls: SandboxCall[] = [];
  /** The reports of tool calls by the indexes of the calls. */
  readonly #reports = new Map<number, CallReport>();
  readonly #toolCalls: number[] = [];
  readonly #waiting = new Map<number, (() => void)[]>();
  /** The number of calls that equal those on the tape. */
  #agreed = 0;
  #batches = 0;
  #hasStarted = false;
  /** The copy makes no further calls. */
  #hasEnded = false;
  /** Nothing is compared any longer. */
  #isOver = false;

  constructor(settings: CopySettings) {
    this.#settings = settings;
    const { job, script, runtime, tape } = settings;
    const { javascript, sha256 } = script;
    this.#run = runtime.run(
      {
        ...job,
        javascript,
        sha256,
        positions: undefined,
        cell: undefined,
        wallMs: WALL_MS,
        limits: copyLimits(job.limits),
      },
      { onStart: () => {}, onSegment: (segment) => this.#onSegment(segment) },
    );
    tape.follow(this);
  }

  /** Resolves when the copy has made the call, or will never make it. */
  reached(callIndex: number): Promise<void> {
    if (this.#willNotReach(callIndex) || callIndex < this.#agreed) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.set(callIndex, [...(this.#waiting.get(callIndex) ?? []), resolve]);
    });
  }

  /** Undefined: the copy does not know the call. */
  labelsOf(callIndex: number): CallLabels | undefined {
    const report = callIndex < this.#agreed ? this.#reports.get(callIndex) : undefined;
    if (report === undefined) return undefined;
    return { report, argsJson: this.#calls[callIndex]!.argsJson, callIndexes: this.#toolCalls };
  }

  grown(): void {
    this.#compare();
    this.#deliver();
  }

  closed(): void {
    if (!this.#isOver) this.#run.cancel('cancelled');
    this.#stop();
  }

  #onSegment(segment: SandboxSegment): void {
    if (this.#isOver) return;
    const { calls, output, end } = segment;
    const reports = readReports(output, this.#settings.script.mark);
    const toolCalls = calls.filter(({ name }) => !name.startsWith('$'));
    // defence: labels-belong-to-their-calls
    const isComplete =
      reports?.length === toolCalls.length && toolCalls.every(({ name }, index) => name === reports[index]!.tool);
    // A page has the label of its file, which the copy does not know.
    if (!isComplete || calls.some(({ name }) => name === PAGE_TOOL)) return this.#fail();
    for (const [index, { callIndex }] of toolCalls.entries()) this.#reports.set(callIndex, reports[index]!);
    this.#toolCalls.push(...toolCalls.map(({ callIndex }) => callIndex));
    this.#calls.push(...calls);
    this.#hasStarted = true;
    this.#compare();
    this.#hasEnded = end !== undefined;
    if (this.#hasEnded) this.#release();
    else this.#deliver();
  }

  /** Compares the copy's calls with those of the script, as far as both have been made. */
  #compare(): void {
    while (!this.#isOver && this.#agreed < this.#calls.length) {
      const agrees = this.#settings.tape.agrees(this.#calls[this.#agreed]!);
      if (agrees === undefined) return;
      // defence: copies-make-the-same-calls
      if (!agrees) return this.#fail();
      this.#answer(this.#agreed++);
    }
  }

  /** Delivers all batches that the script has received, also those of calls that the copy is about to make. */
  #deliver(): void {
    while (this.#hasStarted && !this.#hasEnded && !this.#isOver) {
      const batch = this.#settings.tape.batch(this.#batches);
      if (batch === undefined) return;
      this.#batches += 1;
      const settlements = batch.settlements.map((settlement) => this.#withParts(settlement));
      this.#run.settle(settlements, batch.clockMs, WALL_MS);
    }
  }

  /** Adds to a result the paths of the parts that the labels of its tool name. */
  #withParts(settlement: Settlement): Settlement {
    const name = this.#settings.tape.nameOf(settlement.callIndex);
    const tool = name === undefined ? undefined : this.#settings.tool(name);
    if (!settlement.ok || tool?.labels === undefined || settlement.json === '') return settlement;
    try {
      const value = JSON.parse(settlement.json) as unknown;
      const parts = partPaths(tool, value);
      if (parts.length === 0) return settlement;
      if (Array.isArray(value)) value.push({ [PARTS]: parts });
      else (value as Record<string, unknown>)[PARTS] = parts;
      return { ...settlement, json: JSON.stringify(value) };
    } catch {
      return settlement;
    }
  }

  #fail(): void {
    this.#run.cancel('cancelled');
    this.#stop();
  }

  #stop(): void {
    this.#isOver = true;
    this.#release();
  }

  #answer(callIndex: number): void {
    for (const resolve of this.#waiting.get(callIndex) ?? []) resolve();
    this.#waiting.delete(callIndex);
  }

  /** Nobody waits any longer for calls that the copy will not make. */
  #release(): void {
    for (const callIndex of this.#waiting.keys()) if (this.#willNotReach(callIndex)) this.#answer(callIndex);
  }

  #willNotReach(callIndex: number): boolean {
    return this.#isOver || (this.#hasEnded && callIndex >= this.#calls.length);
  }
}

function copyLimits(limits: SandboxLimits): SandboxLimits {
  return {
    ...limits,
    computeMs: Math.min(limits.computeMs, COMPUTE_MS),
    // Labels take memory too.
    memoryMb: Math.min(limits.memoryMb * 2, MAX_MEMORY_MB),
    maxOutputBytes: OUTPUT_BYTES,
    queueWaitMs: WALL_MS,
  };
}
