import type {
  GuestThrow,
  SandboxCall,
  SandboxEnd,
  SandboxHeap,
  SandboxJob,
  SandboxLimits,
  SandboxSegment,
  Settlement,
} from '../../protocol/index.js';
import {
  readFrame,
  readGuestThrow,
  readOutbox,
  readScope,
  type FramedSegment,
  type Outbox,
} from '../quickjs/outbox.js';
import type { SlotHeap } from '../quickjs/slot.js';
import { ReportKind, type WorkerReport } from './messages.js';

/*
 * Writes the texts that the guest's bridge reads (see its functions `begin` and `settle`), and reads the guest's
 * segments.
 */

const limitTexts = new WeakMap<SandboxLimits, string>();

function guestLimits(limits: SandboxLimits): string {
  let text = limitTexts.get(limits);
  if (text === undefined) {
    text = [
      limits.maxCalls,
      limits.maxBuiltinCalls,
      limits.maxToolInputBytes,
      limits.maxReturnBytes,
      limits.maxLogEvents,
      limits.maxLogBytes,
      limits.maxOutputBytes,
      limits.maxProgressEvents,
    ].join();
    limitTexts.set(limits, text);
  }
  return text;
}

/** The text that the guest's bridge reads at a script's start; see its function `begin`. */
export function writeInit({
  runId,
  limits,
  seed,
  spawn,
  cell,
}: Pick<SandboxJob, 'runId' | 'limits' | 'seed' | 'spawn' | 'cell'>): string {
  const number = cell === undefined ? '' : `,${cell.number}`;
  return `[${guestLimits(limits)},${warmSeed(seed).join()},${spawn ? JSON.stringify(runId) : 0}${number}]`;
}

export function settlementBatch(settlements: readonly Settlement[]): string {
  const entries = settlements.map((settlement) => {
    if (settlement.ok) return `[${settlement.callIndex},1${settlement.json === '' ? '' : `,${settlement.json}`}]`;
    const { code, message, data, stack = '' } = settlement.error;
    const members = [settlement.callIndex, stack, code, message];
    return JSON.stringify(data === undefined ? members : [...members, data]);
  });
  return `[${entries.join(',')}]`;
}

type Seed = readonly [number, number, number, number];

const WARM_UP_ROUNDS = 12;

/** Advances the guest's generator (sfc32, see `guest/bridge/random.ts`) until a poor seed has no effect. */
function warmSeed([a, b, c, d]: Seed): Seed {
  let [first, second, third, counter] = [a | 0, b | 0, c | 0, d | 0];
  for (let round = 0; round < WARM_UP_ROUNDS; round++) {
    const sum = (((first + second) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    first = second ^ (second >>> 9);
    second = (third + (third << 3)) | 0;
    third = (((third << 21) | (third >>> 11)) + sum) | 0;
  }
  return [first, second, third, counter];
}

/**
 * Reads a worker's report. `images`: the names of the images that a heap needs. Throws a `GuestBreach` if the guest's
 * part breaks a rule.
 */
export function readSegment(
  report: WorkerReport,
  limits: SandboxLimits,
  columns: ColumnReader,
  images: readonly string[] = [],
): SandboxSegment {
  const [, kind, text, computeMs, memoryBytes, rest] = report;
  const frame = readFrame(text);
  const outbox = readOutbox(frame.text, frame.places.length, limits);
  const end = withColumns(withUnhandledThrows(rest?.end ?? outbox.end, rest?.unhandled ?? []), columns);
  return {
    calls: readCalls(outbox, frame, columns),
    logs: outbox.logs,
    output: outbox.output,
    progress: outbox.progress,
    dropped: outbox.dropped,
    unobservable: rest?.unobservable ?? [],
    ...(end === undefined ? {} : { end }),
    ...(rest?.heap === undefined ? {} : { heap: readHeap(rest.heap, images) }),
    computeMs,
    memoryBytes,
    compilationCacheHit: (kind & ReportKind.cacheHit) !== 0,
  };
}

function readHeap({ memory, isDelta, scopeJson, heapBytes }: SlotHeap, images: readonly string[]): SandboxHeap {
  return { images, memory, isDelta, ...readScope(scopeJson), heapBytes };
}

const NONE_DROPPED = { logs: 0, progress: 0 } as const;

/** The last segment of a run that ended on the host's side. */
export function endSegment(end: SandboxEnd): SandboxSegment {
  return {
    calls: [],
    logs: [],
    output: '',
    progress: [],
    dropped: NONE_DROPPED,
    unobservable: [],
    end,
    computeMs: 0,
    memoryBytes: 0,
    compilationCacheHit: false,
  };
}

function readCalls(outbox: Outbox, { firstCall, places }: FramedSegment, columns: ColumnReader): SandboxCall[] {
  return outbox.calls.map(({ name, argsJson, argsProblem }, index) => {
    const { line, column: byteColumn } = places[index]!;
    const column = columns.column(line, byteColumn);
    const callIndex = firstCall + index;
    return argsProblem === undefined
      ? { callIndex, name, argsJson, line, column }
      : { callIndex, name, argsJson, argsProblem, line, column };
  });
}

function withUnhandledThrows(end: SandboxEnd | undefined, unhandled: readonly GuestThrow[]): SandboxEnd | undefined {
  if (end?.type !== 'returned' && end?.type !== 'threw' && end?.type !== 'stalled') return end;
  return unhandled.length === 0 ? end : { ...end, unhandled: unhandled.map(readGuestThrow) };
}

/** Converts traces from the engine's columns to the source's. */
function withColumns(end: SandboxEnd | undefined, columns: ColumnReader): SandboxEnd | undefined {
  if (end === undefined || columns.areBytes) return end;
  const mended = (thrown: GuestThrow): GuestThrow => ({ ...thrown, stack: columns.stack(thrown.stack) });
  switch (end.type) {
    case 'stalled':
      return end.unhandled === undefined ? end : { ...end, unhandled: end.unhandled.map(mended) };
    case 'returned':
      return { ...end, unhandled: end.unhandled.map(mended) };
    case 'threw':
      return { ...end, error: mended(end.error), unhandled: end.unhandled.map(mended) };
    case 'limit':
      return end.error === undefined ? end : { ...end, error: mended(end.error) };
    default:
      return end;
  }
}

/**
 * The engine counts columns in bytes of UTF-8; the rest of the program counts UTF-16 units. In ASCII sources both are
 * equal, and nothing is converted.
 */
export class ColumnReader {
  /** True if columns need no conversion. */
  readonly areBytes: boolean;
  readonly #source: string;
  #lines: string[] | undefined;

  constructor(source: string) {
    this.#source = source;
    this.areBytes = !/[^\u0000-\u007f]/u.test(source);
  }

  /** Converts a 1-based column in bytes to one in UTF-16 units. */
  column(line: number, byteColumn: number): number {
    if (this.areBytes || byteColumn <= 1) return byteColumn;
    this.#lines ??= this.#source.split('\n');
    const text = this.#lines[line - 1];
    if (text === undefined) return byteColumn;
    return (
      Buffer.from(text)
        .subarray(0, byteColumn - 1)
        .toString().length + 1
    );
  }

  stack(trace: string): string {
    return trace.replaceAll(
      /script\.ts:(\d+):(\d+)/gu,
      (_match, line: string, column: string) => `script.ts:${line}:${this.column(Number(line), Number(column))}`,
    );
  }
}
