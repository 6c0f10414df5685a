import type {
  GuestThrow,
  SandboxEnd,
  SandboxJob,
  SandboxObserver,
  SandboxRun,
  SandboxSegment,
  Settlement,
} from '@toolscript/core/ports';
import {
  ColumnReader,
  GuestBreach,
  readGuestThrow,
  readSegment,
  ReportKind,
  saysEnded,
} from '@toolscript/core/internal';
import type { SandboxProcess } from './child-process.js';
import type { SegmentFigures } from './messages.js';

/** The functions of the pool that a run calls. */
interface IsolateHost {
  settle(run: IsolateLive, settlements: readonly Settlement[], clockMs: number, wallMs: number): void;
  cancel(run: IsolateLive, reason: 'cancelled' | 'timeout'): void;
}

/**
 * A run, from the call of `run` to the last segment. A run has no `capture`: the session replays the script's tape
 * instead.
 */
export class IsolateLive implements SandboxRun {
  state: 'waiting' | 'running' | 'ended' = 'waiting';
  process: SandboxProcess | undefined;
  /** True while the run boots or executes a segment. */
  isExecuting = false;
  /** True if the run may have ended a process. Such a run gets a separate process. */
  isSuspect = false;
  wallMs: number;
  /** The timer that ends the process if the child does not stop a segment by itself. */
  watch: NodeJS.Timeout | undefined;
  segments = 0;
  /**
   * Number of further segments that are not delivered, because they repeat segments that were delivered before the run
   * started over.
   */
  toSkip = 0;
  /** Number of entries of the tape that the current process has received. */
  sent = 0;
  calls = 0;
  pending = new Set<number>();
  unhandled: readonly GuestThrow[] = [];
  /** Every batch of settlements, in order, for a replay in another process. */
  readonly tape: { batchJson: string; settled: readonly number[]; clockMs: number }[] = [];

  constructor(
    readonly host: IsolateHost,
    /** The key changes each time the run starts over, so that the pool ignores late reports of an earlier attempt. */
    public key: number,
    readonly job: SandboxJob,
    readonly observer: SandboxObserver,
  ) {
    this.wallMs = job.wallMs;
  }

  settle(settlements: readonly Settlement[], clockMs: number, wallMs: number): void {
    this.host.settle(this, settlements, clockMs, wallMs);
  }

  cancel(reason: 'cancelled' | 'timeout'): void {
    this.host.cancel(this, reason);
  }
}

/** V8 counts columns in UTF-16 units, as this program does. */
const UNCHANGED = new ColumnReader('');
/**
 * The positions and the mark that `guest/main.ts` writes before the bridge's message. `S` or `M`: the engine ran out
 * of stack or memory.
 */
const HEAD = /^((?:\d{1,9},\d{1,9};)*)([SM-])/u;
const LIMITS: Readonly<Record<string, 'stack' | 'memory'>> = { S: 'stack', M: 'memory' };

/**
 * Reads the child's report of a segment. The host trusts neither the guest nor the child: it checks every member by the
 * rules that also apply to QuickJS. Throws a `GuestBreach`.
 */
export function readReport(run: IsolateLive, text: string, figures: SegmentFigures): SandboxSegment {
  const { places, outbox, limit } = split(text);
  const calls = places === '' ? 0 : places.split(';').length - 1;
  const { maxCalls, maxBuiltinCalls } = run.job.limits;
  // defence: isolate-calls-are-bounded
  if (run.calls + calls > maxCalls + maxBuiltinCalls)
    throw new GuestBreach('the script made more calls than its limit allows');
  const unhandled = [...run.unhandled, ...readUnhandledThrows(figures.unhandled)].slice(0, MAX_UNHANDLED);
  const end = readEnd(figures.end);
  const isOver = end !== undefined || saysEnded(outbox);
  const framed = outbox === '' ? '' : `${run.calls};${places}${outbox}`;
  const kind = isOver ? ReportKind.ended : 0;
  const rest = {
    end,
    unhandled: isOver ? unhandled : [],
    unobservable: [],
    dropped: 0,
    droppedBytes: 0,
    grownBytes: 0,
  };
  const segment = readSegment(
    [run.key, kind, framed, count(figures.computeMs), count(figures.memoryBytes), rest],
    run.job.limits,
    UNCHANGED,
  );
  for (let index = run.calls; index < run.calls + calls; index++) run.pending.add(index);
  run.calls += calls;
  run.unhandled = unhandled;
  if (segment.end === undefined && run.pending.size === 0) {
    return { ...segment, end: unhandled.length === 0 ? { type: 'stalled' } : { type: 'stalled', unhandled } };
  }
  return limit === undefined ? segment : withLimit(segment, limit);
}

const MAX_UNHANDLED = 100;

function split(text: string): { places: string; outbox: string; limit: 'stack' | 'memory' | undefined } {
  if (text === '') return { places: '', outbox: '', limit: undefined };
  const head = HEAD.exec(text);
  if (head === null) throw new GuestBreach('the message has no head');
  return { places: head[1]!, outbox: text.slice(head[0].length), limit: LIMITS[head[2]!] };
}

/**
 * Replaces the end of a script that threw an error with the limit that the guest recorded. The error's own text does
 * not decide the limit.
 */
function withLimit(segment: SandboxSegment, limit: 'stack' | 'memory'): SandboxSegment {
  const { end } = segment;
  return end?.type === 'threw' ? { ...segment, end: { type: 'limit', limit, error: end.error } } : segment;
}

function readUnhandledThrows(unhandled: SegmentFigures['unhandled']) {
  // defence: isolate-rejections-are-a-list
  if (!Array.isArray(unhandled)) throw new GuestBreach('the report has no list of rejections');
  return unhandled.slice(0, MAX_UNHANDLED).map((thrown) => readGuestThrow({ ...thrown, stack: '' }));
}

/** Reads the end that the child reports. Any end that a child may not report counts as an internal failure. */
function readEnd(end: SandboxEnd | undefined): SandboxEnd | undefined {
  if (end === undefined) return undefined;
  const { type, limit, detail, message, line } = end as unknown as Record<string, unknown>;
  // defence: isolate-ends-are-known
  if (type === 'limit' && (limit === 'compute' || limit === 'wall' || limit === 'memory')) return { type, limit };
  if (type === 'syntax') return { type, message: String(message).slice(0, 8_192), line: count(line) };
  return { type: 'internal', detail: String(detail).slice(0, 8_192) };
}

function count(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : 0;
}
