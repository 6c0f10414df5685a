import { once } from 'node:events';
import { parentPort } from 'node:worker_threads';
import type { SandboxEnd, SandboxLimits } from '../../protocol/index.js';
import { BytecodeCompiler } from '../quickjs/bytecode-compiler.js';
import { Slot, type SlotHost, type SlotSegment, type SlotSnapshot } from '../quickjs/slot.js';
import { BytecodeLedger } from './bytecode-ledger.js';
import { Control } from './control.js';
import {
  ReportKind,
  type RunRestore,
  type RunStart,
  type WorkerBirth,
  type WorkerCommand,
  type WorkerReport,
} from './messages.js';
import { onMessages } from './short-waits.js';

/**
 * A worker thread with several sandboxes. It executes commands in the order they come, one segment at a
 * time; a script that waits for its tools holds a slot, not the worker.
 */

const port = parentPort!;
const [birth] = (await once(port, 'message')) as [WorkerBirth];
// Copied from shared memory once: copying from there is slower, and every script is given such a copy.
birth.execute.content = birth.execute.content.slice();
const control = new Control(birth.control);
const compiler = new BytecodeCompiler(birth.module, birth.compile);
const bytecodes = new BytecodeLedger<Uint8Array | SandboxEnd>(birth.bytecodeCacheSize);
const live = new Map<number, { slot: Slot; index: number; bytes: number }>();
const pristine: Slot[] = [];
/** Idle instances kept for reuse, and how many of them stay when nothing has run for a while. */
const MOST_PRISTINE = 128;
const MOST_WHEN_IDLE = 8;
const IDLE_MS = 2_000;
/** What a script ahead in a batch has to say is not held back longer than this by those behind it. */
const REPORT_MS = 5;
let currentSlot = 0;
let lastLimits: SandboxLimits | undefined;
const slotHost: SlotHost = {
  isCancelled: () => control.cancelled(currentSlot),
  mustMakeRoom: () => control.scripts() > 1,
};
/** Slots of another engine or image, and those whose guest broke a rule. */
const forOneScript = new WeakSet<Slot>();
let dropped = 0;
let droppedBytes = 0;
let liveBytes = 0;
let reports: WorkerReport[] = [];
/** What the pool was last told of this worker's memory. */
let reportedBytes = 0;
let reportedDropped = 0;

onMessages(
  port,
  () => control.messages(),
  (commands) => {
    let reportedAt = performance.now();
    for (const command of commands as WorkerCommand[]) {
      // A sandbox that was just used is warm: the next script of the batch gets it.
      recycleEnded();
      execute(command);
      if (performance.now() - reportedAt < REPORT_MS) continue;
      sendReports();
      reportedAt = performance.now();
    }
    sendReports();
    recycleEnded();
    trimWhenIdle();
  },
);

function sendReports(): void {
  const out = reports;
  reports = [];
  if (out.length > 0) port.postMessage(out);
}

let trimming: NodeJS.Timeout | undefined;

function trimWhenIdle(): void {
  if (pristine.length <= MOST_WHEN_IDLE || trimming !== undefined) return;
  trimming = setTimeout(() => {
    trimming = undefined;
    if (live.size === 0) pristine.length = Math.min(pristine.length, MOST_WHEN_IDLE);
    else trimWhenIdle();
  }, IDLE_MS).unref();
}

pristine.push(makeSlot());
port.postMessage('ready');

function makeSlot(): Slot {
  return new Slot(birth.module, birth.execute, slotHost);
}

function execute(command: WorkerCommand): void {
  switch (command[0]) {
    case 'run':
      return start(command[1], command[2]);
    case 'settle':
      return settle(command[1], command[2], command[3], command[4], command[5]);
    case 'restore':
      return restore(command[1], command[2]);
    case 'capture':
      return capture(command[1]);
    case 'drop':
      // defence: instances-of-breaches-are-dropped
      if (command[2]) dropWhenEnded(command[1]);
      end(command[1]);
      pushReport(command[1], endedSegment({ type: 'cancelled', reason: 'cancelled' }), true, true);
  }
}

function start(run: number, begin: RunStart): void {
  if (begin.limits !== undefined) lastLimits = begin.limits;
  const cached = bytecodes.use(begin.sha256);
  const cacheHit = cached !== undefined;
  control.enter(run);
  currentSlot = begin.slot;
  const bytecode = cached ?? compile(begin);
  const slot = bytecode instanceof Uint8Array ? takeSlot() : bytecode;
  if (!(slot instanceof Slot) || !(bytecode instanceof Uint8Array)) {
    control.leave();
    report(run, endedSegment(slot as SandboxEnd), cacheHit);
    return;
  }
  live.set(run, { slot, index: begin.slot, bytes: 0 });
  const { initJson, clockMs, wallMs, sliceMs } = begin;
  const segment = slot.start({ bytecode, initJson, clockMs, limits: lastLimits!, sliceMs }, wallMs);
  control.leave();
  report(run, segment, cacheHit);
}

/** The guest stands still afterwards, as it did when it was captured. */
function restore(run: number, { slot: index, snapshot, sliceMs, limits, maxMemoryBytes, other }: RunRestore): void {
  let slot: Slot | undefined;
  try {
    slot = other === undefined ? (pristine.pop() ?? makeSlot()) : new Slot(other.module, other.execute, slotHost);
    if (other !== undefined) forOneScript.add(slot);
    slot.restore(snapshot, limits, sliceMs, maxMemoryBytes);
  } catch (error) {
    report(run, endedSegment({ type: 'unrestorable', detail: String(error) }), true);
    return;
  }
  live.set(run, { slot, index, bytes: 0 });
  countBytes(run);
  pushAnswer(run, ReportKind.restored);
}

function capture(run: number): void {
  const running = live.get(run);
  let snapshot: SlotSnapshot | undefined;
  try {
    snapshot = running?.slot.capture();
  } catch {
    // It goes on as it is.
  }
  if (snapshot !== undefined) end(run);
  pushAnswer(run, ReportKind.captured, snapshot);
}

function takeSlot(): Slot | SandboxEnd {
  try {
    return pristine.pop() ?? makeSlot();
  } catch (error) {
    return internalEnd(`no sandbox could be made: ${String(error)}`);
  }
}

function compile({ sha256, javascript }: RunStart): Uint8Array | SandboxEnd {
  const made =
    javascript === undefined ? internalEnd('bytecode was expected in the cache') : compiler.compile(javascript);
  bytecodes.add(sha256, made);
  return made;
}

function settle(run: number, batchJson: string, settled: number[], clockMs: number, wallMs: number): void {
  const running = live.get(run);
  if (running === undefined) {
    // It ended before this reached it; every command has its answer all the same.
    pushReport(run, endedSegment({ type: 'cancelled', reason: 'cancelled' }), true, false);
    return;
  }
  control.enter(run);
  currentSlot = running.index;
  const segment = running.slot.settle(batchJson, settled, clockMs, wallMs);
  control.leave();
  report(run, segment, true);
}

/** The slot is never used again. */
function dropWhenEnded(run: number): void {
  const running = live.get(run);
  if (running !== undefined) forOneScript.add(running.slot);
}

const ended: Slot[] = [];

function end(run: number): void {
  const running = live.get(run);
  if (running === undefined) return;
  live.delete(run);
  liveBytes -= running.bytes;
  ended.push(running.slot);
}

/** Between the commands of a batch, and after the last one's report is on its way. */
function recycleEnded(): void {
  while (ended.length > 0) {
    const slot = ended.pop()!;
    if (!forOneScript.has(slot) && slot.recycle()) {
      if (pristine.length < MOST_PRISTINE) pristine.push(slot);
    } else {
      dropped++;
      droppedBytes += slot.memoryBytes;
    }
  }
}

function report(run: number, segment: SlotSegment, cacheHit: boolean): void {
  countBytes(run);
  if (segment.ended) end(run);
  pushReport(run, segment, cacheHit, false);
}

function pushReport(run: number, segment: SlotSegment, cacheHit: boolean, released: boolean): void {
  const { ended, end, moved, unhandled, unobservable } = segment;
  const kind =
    (moved === true ? ReportKind.moved : ended ? ReportKind.ended : 0) |
    (released ? ReportKind.released : 0) |
    (cacheHit ? ReportKind.cacheHit : 0);
  const report: WorkerReport = [run, kind, segment.text, segment.computeMs, segment.memoryBytes];
  const isPlain = end === undefined && unhandled.length === 0 && unobservable.length === 0;
  if (!isPlain || reportedBytes !== liveBytes || reportedDropped !== dropped) {
    report.push({ end, unhandled, unobservable, dropped, droppedBytes, workerBytes: liveBytes });
    reportedBytes = liveBytes;
    reportedDropped = dropped;
  }
  reports.push(report);
}

/** An answer that is no segment. */
function pushAnswer(run: number, kind: number, snapshot?: SlotSnapshot): void {
  const memory = { dropped, droppedBytes, workerBytes: liveBytes };
  const said = snapshot === undefined ? {} : { snapshot };
  reports.push([run, kind, '', 0, 0, { end: undefined, unhandled: [], unobservable: [], ...memory, ...said }]);
}

function countBytes(run: number): void {
  const running = live.get(run);
  if (running === undefined) return;
  const bytes = running.slot.memoryBytes;
  liveBytes += bytes - running.bytes;
  running.bytes = bytes;
}

function endedSegment(end: SandboxEnd): SlotSegment {
  return { text: '', end, ended: true, unhandled: [], unobservable: [], computeMs: 0, memoryBytes: 0 };
}

function internalEnd(detail: string): SandboxEnd {
  return { type: 'internal', detail };
}
