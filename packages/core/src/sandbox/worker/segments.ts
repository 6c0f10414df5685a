import type { GuestThrow, SandboxCall, SandboxEnd, SandboxLimits, SandboxSegment } from '../../protocol/index.js';
import { readFrame, readGuestThrow, readOutbox, type FramedSegment, type Outbox } from '../quickjs/outbox.js';
import type { ColumnReader } from './columns.js';
import { ReportKind, type WorkerReport } from './messages.js';

/** Throws a `GuestBreach` if the guest's part breaks a rule. */
export function readSegment(report: WorkerReport, limits: SandboxLimits, columns: ColumnReader): SandboxSegment {
  const [, kind, text, computeMs, memoryBytes, rest] = report;
  const frame = readFrame(text);
  const outbox = readOutbox(frame.text, frame.places.length, limits);
  const end = withColumns(withUnhandled(rest?.end ?? outbox.end, rest?.unhandled ?? []), columns);
  return {
    calls: readCalls(outbox, frame, columns),
    logs: outbox.logs,
    output: outbox.output,
    progress: outbox.progress,
    dropped: outbox.dropped,
    unobservable: rest?.unobservable ?? [],
    ...(end === undefined ? {} : { end }),
    computeMs,
    memoryBytes,
    compilationCacheHit: (kind & ReportKind.cacheHit) !== 0,
  };
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

function withUnhandled(end: SandboxEnd | undefined, unhandled: readonly GuestThrow[]): SandboxEnd | undefined {
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
