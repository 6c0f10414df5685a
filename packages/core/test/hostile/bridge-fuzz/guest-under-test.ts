import type { SandboxEnd, SandboxLimits, Settlement } from '#core/protocol/index.js';
import { BytecodeCompiler } from '#core/sandbox/quickjs/bytecode-compiler.js';
import { readFrame, readOutbox } from '#core/sandbox/quickjs/outbox.js';
import { Slot, type SlotSegment } from '#core/sandbox/quickjs/slot.js';
import { loadArtefacts, type ExecuteArtefacts } from '#core/sandbox/worker/artefacts.js';
import { ToolNames } from '#core/sandbox/quickjs/guest-texts.js';
import { settlementBatch, writeInit } from '#core/sandbox/worker/guest-messages.js';
import { asScript } from '#core/testing/drive-run.js';
import { FaultyEngine } from './faulty-engine.js';
import { FUZZ_LIMITS, type FuzzCase } from './fuzz-case.js';
import { COUNTER_MARK, LinePlan } from './guest-images.js';
import { callLines, check, compareCalls, isBuiltin, type SeenCall } from './oracle.js';
import { findRecord, readRecord, type ScriptRecord } from './script-record.js';
import { isForeign, renderScript } from './script-tree.js';

export interface CaseReport {
  readonly source: string;
  /** Violated guarantees; empty for a correct guest. */
  readonly violations: readonly string[];
  /** The coverage: blocks of the bridge, kinds of messages and ends. */
  readonly features: readonly string[];
  /** True: the engine ran out of memory or stack. */
  readonly ranOut: boolean;
  /** The number of passes of each line of the bridge that can fail; empty if lines cannot fail. */
  readonly passed: ReadonlyMap<number, number>;
}

/** Interrupts before a script is stopped: a measure of its work that is the same on every machine. */
const MAX_INTERRUPTS = 25;
const MAX_SEGMENTS = 40;
/** A maximum and not a measurement: if a script blocks the host, the host would wait without end. */
const MAX_CASE_MS = 10_000;
const WALL_MS = 600_000;
const CLOCK_MS = 1_700_000_000_000;

const NEXT_SCRIPT = asScript(
  'const { n } = await tools.echo({ n: 41 });\nreturn [n + 1, typeof leak, Object.keys(globalThis).length];',
);
const NEXT_VALUE = '[42,"undefined",0]';

interface Instance {
  readonly slot: Slot;
  readonly engine: FaultyEngine;
}

/** Runs cases in one guest, each from a pristine start, and checks the guarantees of the bridge for every case. */
export class GuestUnderTest {
  readonly #artefacts: ExecuteArtefacts;
  readonly #compiler: BytecodeCompiler;
  readonly #free: Instance[] = [];
  #interrupts = 0;
  #counters = 0;
  /** The memory of a new instance. */
  #pristine: Buffer | undefined;
  linePlan: LinePlan | undefined;

  private constructor(artefacts: ExecuteArtefacts, compiler: BytecodeCompiler) {
    this.#artefacts = artefacts;
    this.#compiler = compiler;
  }

  /** Without artefacts, this is the guest of the product. */
  static async open(artefacts?: ExecuteArtefacts): Promise<GuestUnderTest> {
    const shipped = await loadArtefacts(128);
    const compiler = new BytecodeCompiler(shipped.module, shipped.compile);
    return new GuestUnderTest(artefacts ?? shipped, compiler);
  }

  run(fuzzCase: FuzzCase): CaseReport {
    const source = asScript(renderScript(fuzzCase.statements, fuzzCase.ending));
    const bytecode = this.#compiler.compile(source);
    if (!(bytecode instanceof Uint8Array))
      return { source, violations: [], features: [], ranOut: false, passed: new Map() };
    const run = new CaseRun(this, fuzzCase, source);
    const startedAt = performance.now();
    run.play(bytecode);
    if (performance.now() - startedAt > MAX_CASE_MS) run.violate(`the host was held up for ${MAX_CASE_MS} ms`);
    for (const instance of run.used) this.#expectClean(instance, run);
    return run.report();
  }

  take(): Instance {
    return this.#free.pop() ?? this.#make();
  }

  get imageStart(): number {
    return this.#artefacts.execute.header.runs[0]![0];
  }

  resetInterrupts(): void {
    this.#interrupts = 0;
  }

  /** Blocks of the bridge that ran, by frequency; none if the guest counts nothing. */
  blocks(memory: Buffer): string[] {
    if (this.#counters === 0) this.#counters = memory.indexOf(COUNTER_MARK, this.imageStart);
    if (this.#counters < 0) return [];
    const from = this.#counters + COUNTER_MARK.length;
    const blocks: string[] = [];
    for (let index = 0; index < 4_000; index++) {
      const count = memory[from + index]!;
      if (count > 0) blocks.push(`block ${index} ${Math.min(4, 32 - Math.clz32(count))}`);
    }
    return blocks;
  }

  compileText(source: string): Uint8Array {
    const bytecode = this.#compiler.compile(source);
    if (!(bytecode instanceof Uint8Array)) throw new Error('the script cannot be compiled');
    return bytecode;
  }

  #make(): Instance {
    const { module, execute } = this.#artefacts;
    const made: { engine?: FaultyEngine } = {};
    const host = {
      isCancelled: () => (++this.#interrupts > MAX_INTERRUPTS ? ('timeout' as const) : undefined),
      mustMakeRoom: () => false,
    };
    const slot = new Slot(module, execute, host, (of, engineHost) => {
      made.engine = new FaultyEngine(of, engineHost, execute);
      return made.engine;
    });
    this.#pristine ??= Buffer.from(slot.inspectMemory().subarray(this.imageStart));
    this.linePlan ??= LinePlan.find(slot.inspectMemory(), this.imageStart);
    return { slot, engine: made.engine! };
  }

  /** Checks that the next script finds the same state as the first one, or that the instance is not used again. */
  #expectClean(instance: Instance, run: CaseRun): void {
    const { slot, engine } = instance;
    if (!slot.recycle()) return;
    engine.plan([], 0, 0);
    if (!this.#isPristine(slot)) return run.violate('the recycled sandbox is not the pristine one');
    this.resetInterrupts();
    const started = slot.start(startJob(this.#nextScript(), FUZZ_LIMITS, false), WALL_MS);
    const [call] = readSegment(started, FUZZ_LIMITS).calls;
    if (call?.argsJson !== '{"n":41}' || call.line !== 2)
      return run.violate(`the next script's call reads ${JSON.stringify(call ?? started)}`);
    const ended = slot.settle('[[0,1,{"n":41}]]', [0], CLOCK_MS, WALL_MS);
    const { end } = readSegment(ended, FUZZ_LIMITS);
    if (end?.type !== 'returned' || end.json !== NEXT_VALUE)
      return run.violate(`the next script ended with ${JSON.stringify(end ?? ended)}`);
    if (!slot.recycle()) return run.violate('an ordinary script makes its sandbox useless');
    this.#free.push(instance);
  }

  #next: Uint8Array | undefined;

  #nextScript(): Uint8Array {
    return (this.#next ??= this.compileText(NEXT_SCRIPT));
  }

  /** A recycled instance may have grown, but its added memory must be zero. */
  #isPristine(slot: Slot): boolean {
    const memory = slot.inspectMemory().subarray(this.imageStart);
    const pristine = this.#pristine!;
    return (
      pristine.compare(memory, 0, pristine.length) === 0 && memory.subarray(pristine.length).every((byte) => byte === 0)
    );
  }
}

/** One script from its start to its end. */
class CaseRun {
  readonly used: Instance[] = [];
  readonly #guest: GuestUnderTest;
  readonly #case: FuzzCase;
  readonly #source: string;
  readonly #limits: SandboxLimits;
  readonly #lines: ReadonlySet<number>;
  readonly #isForeign: boolean;
  readonly #violations: string[] = [];
  readonly #features = new Set<string>();
  readonly #seen: SeenCall[] = [];
  readonly #counts = { progress: 0, builtins: 0 };
  #segments = 0;
  #pending: { index: number; call: SeenCall }[] = [];
  #passed: ReadonlyMap<number, number> = new Map();
  #ranOut = false;
  /** True: the engine ran out of memory or stack after the first segment. */
  #ranOutLate = false;

  constructor(guest: GuestUnderTest, fuzzCase: FuzzCase, source: string) {
    this.#guest = guest;
    this.#case = fuzzCase;
    this.#source = source;
    this.#limits = { ...FUZZ_LIMITS, ...fuzzCase.limits };
    this.#isForeign = isForeign([...fuzzCase.statements, fuzzCase.ending]);
    this.#lines = callLines(source);
  }

  violate(what: string): void {
    this.#violations.push(what);
  }

  report(): CaseReport {
    return {
      source: this.#source,
      violations: this.#violations,
      features: [...this.#features],
      ranOut: this.#ranOut,
      passed: this.#passed,
    };
  }

  play(bytecode: Uint8Array): void {
    let instance = this.#take();
    try {
      let segment = instance.slot.start(startJob(bytecode, this.#limits, this.#case.spawn), WALL_MS);
      for (let turn = 0; this.#read(segment, instance); turn++) {
        if (turn >= MAX_SEGMENTS) return;
        if (this.#case.movesAfter.includes(turn)) instance = this.#move(instance);
        segment = this.#settle(instance);
      }
    } catch (error) {
      this.violate(`an exception reached the host: ${error instanceof Error ? error.stack : String(error)}`);
    }
  }

  #take(): Instance {
    const instance = this.#guest.take();
    const { memoryMb, maxStackBytes } = this.#limits;
    const { faults, lineFailure } = this.#case;
    instance.engine.plan(faults, memoryMb * 1_048_576, maxStackBytes, lineFailure !== undefined);
    this.#guest.linePlan?.set(instance.slot.inspectMemory(), lineFailure);
    this.#guest.resetInterrupts();
    this.used.push(instance);
    return instance;
  }

  /** Continues the script in another sandbox. */
  #move({ slot }: Instance): Instance {
    const snapshot = slot.capture();
    const instance = this.#take();
    const { texts } = startJob(new Uint8Array(), this.#limits, false);
    const job = { limits: this.#limits, texts, sliceMs: WALL_MS, maxMemoryBytes: 128 * 1_048_576 };
    instance.slot.restore(snapshot, job);
    this.#features.add('moved');
    return instance;
  }

  #settle({ slot }: Instance): SlotSegment {
    const { order, atOnce } = this.#case.settling;
    const ordered = order === 'first' ? this.#pending : this.#pending.toReversed();
    const chosen = ordered.slice(0, atOnce);
    this.#pending = this.#pending.filter((one) => !chosen.includes(one));
    const batch = chosen.map(({ index, call }) => settlementOf(index, call));
    const indexes = chosen.map(({ index }) => index);
    return slot.settle(settlementBatch(batch), indexes, CLOCK_MS, WALL_MS);
  }

  /** Reads a segment. True if the script continues. */
  #read(segment: SlotSegment, instance: Instance): boolean {
    const { slot, engine } = instance;
    this.#noteRoom(engine);
    const { end: hostEnd } = segment;
    if (hostEnd?.type === 'internal') this.violate(`the bridge broke a rule, or the engine its own: ${hostEnd.detail}`);
    const { firstCall, calls, outbox, end } = readSegment(segment, this.#limits);
    if (calls.length > 0 && firstCall !== this.#seen.length)
      this.violate(`the segment's first call is ${firstCall}, and ${this.#seen.length} came before`);
    for (const call of calls) this.#note(call);
    this.#count(outbox);
    const finalEnd: SandboxEnd | undefined = hostEnd ?? end;
    this.#noteFeatures(segment, finalEnd);
    if (segment.ended !== (finalEnd !== undefined)) this.violate('the segment ends without an end, or the reverse');
    this.#segments++;
    if (!segment.ended) return true;
    this.#compare(instance, finalEnd!);
    for (const block of this.#guest.blocks(bufferOf(slot))) this.#features.add(block);
    this.#passed = this.#guest.linePlan?.passed(slot.inspectMemory()) ?? this.#passed;
    return false;
  }

  #noteRoom(engine: FaultyEngine): void {
    if (!engine.takeRunOut()) return;
    this.#ranOut = true;
    this.#ranOutLate ||= this.#segments > 0;
  }

  #note(call: SeenCall): void {
    this.#pending.push({ index: this.#seen.length, call });
    this.#seen.push(call);
    if (isBuiltin(call)) this.#counts.builtins++;
    const isRight = this.#isForeign ? call.line <= this.#source.split('\n').length : this.#lines.has(call.line);
    if (!isRight) this.violate(`the call ${call.name} is said to stand on line ${call.line}, where no call stands`);
  }

  #count({ logs, progress }: ReturnType<typeof readOutbox>): void {
    this.#counts.progress += progress.length;
    const { maxLogEvents, maxProgressEvents, maxCalls, maxBuiltinCalls } = this.#limits;
    const tools = this.#seen.length - this.#counts.builtins;
    // Each segment keeps its first and last lines; the host bounds those of all segments.
    if (logs.length > maxLogEvents) this.violate(`${logs.length} console lines are more than there may be`);
    if (this.#counts.progress > maxProgressEvents * 4 + 64) this.violate('more progress than there may be');
    if (tools > maxCalls) this.violate(`${tools} calls to tools are more than there may be`);
    if (this.#counts.builtins > maxBuiltinCalls) this.violate('more calls of the bridge itself than there may be');
  }

  #compare({ slot, engine }: Instance, end: SandboxEnd): void {
    const record = readRecord(findRecord(slot.inspectMemory(), this.#guest.imageStart));
    if (record === undefined) return;
    const isComplete = engine.hasFlushed && end.type !== 'internal';
    const rules = { maxCalls: this.#limits.maxCalls, isComplete, isForeign: this.#isForeign };
    for (const fault of compareCalls(this.#seen, record, rules)) this.violate(fault);
    if (isComplete && this.#pending.length === 0) this.#expectSettled(record);
  }

  /** If the engine runs out of memory while it settles promises, or creates settled ones, it loses their listeners. */
  #expectSettled({ kept, settled }: ScriptRecord): void {
    const tools = this.#seen.length - this.#counts.builtins;
    if (this.#ranOutLate || tools >= this.#limits.maxCalls || kept === settled) return;
    this.violate(`the host settled every call, and the script still waits for ${kept - settled} of ${kept}`);
  }

  #noteFeatures(segment: SlotSegment, end: SandboxEnd | undefined): void {
    const text = segment.text;
    for (const member of ['calls', 'logs', 'progress', 'output', 'dropped', 'end'])
      if (text.includes(`"${member}":`)) this.#features.add(`member ${member}`);
    if (end !== undefined)
      if (end !== undefined)
        this.#features.add(`end ${end.type} ${end.type === 'limit' ? end.limit : ''} ${this.#ranOut}`);
    if (segment.unhandled.length > 0) this.#features.add('unhandled');
    if (segment.unobservable.length > 0) this.#features.add('unobservable');
    for (const { argsProblem } of this.#seen)
      if (argsProblem !== undefined) this.#features.add(`problem ${argsProblem.replaceAll(/\d+/gu, '').slice(0, 40)}`);
  }
}

function bufferOf(slot: Slot): Buffer {
  const memory = slot.inspectMemory();
  return Buffer.from(memory.buffer, memory.byteOffset, memory.byteLength);
}

function readSegment(segment: SlotSegment, limits: SandboxLimits) {
  const { text, places, firstCall } = readFrame(segment.text);
  const outbox = readOutbox(text, places.length, limits);
  const calls: SeenCall[] = outbox.calls.map((call, index) => ({ ...call, line: places[index]!.line }));
  return { firstCall, calls, outbox, end: outbox.end };
}

function settlementOf(callIndex: number, { name, argsJson, argsProblem }: SeenCall): Settlement {
  if (argsProblem !== undefined)
    return { callIndex, ok: false, error: { code: 'ToolValidationError', message: argsProblem.slice(0, 100) } };
  if (name.startsWith('$')) return { callIndex, ok: true, json: callIndex % 2 === 0 ? '' : '{"list":[1,{"a":null}]}' };
  const { n = null } = (JSON.parse(argsJson) as { n?: unknown } | null) ?? {};
  if (typeof n !== 'number') return { callIndex, ok: true, json: argsJson };
  if (n % 5 === 4)
    return {
      callIndex,
      ok: false,
      error: { code: 'ToolExecutionError', message: `failed ${n}`, data: { n, list: [{}] } },
    };
  return { callIndex, ok: true, json: JSON.stringify({ n, reply: check(n + 7) }) };
}

function startJob(bytecode: Uint8Array, limits: SandboxLimits, spawn: boolean) {
  const initText = writeInit({
    runId: 'scr_fuzz',
    spawn,
    seed: [1, 2, 3, 4],
    limits,
  });
  const tools = new ToolNames(['echo', 'space.inner', 'fail', 'never', 'danger', 'readFile']);
  const texts = { tools, contextJson: '{"a":{"b":1}}', positions: '' };
  return { bytecode, initText, texts, clockMs: CLOCK_MS, limits, sliceMs: WALL_MS };
}
