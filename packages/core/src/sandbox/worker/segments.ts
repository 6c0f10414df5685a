import type { GuestThrow, LogLevel, SandboxCall, SandboxEnd, SandboxSegment } from '../../protocol/index.js';
import type { ColumnReader } from './columns.js';
import { ReportKind, type WorkerReport } from './messages.js';

/** The guest's outbox, as its bridge writes it. */
interface Outbox {
  calls: [index: number, name: string, args: string, line: number, column: number, problem?: string][];
  logs: [LogLevel, string][];
  progress: [string, 'info' | 'warn'][];
  output: string;
  dropped: [logs: number, progress: number];
  end?: [string, ...unknown[]];
}

const EMPTY: Outbox = { calls: [], logs: [], progress: [], output: '', dropped: [0, 0] };

export function readSegment(report: WorkerReport, columns: ColumnReader): SandboxSegment {
  const [, kind, text, computeMs, memoryBytes, rest] = report;
  const outbox = text === '' ? EMPTY : (JSON.parse(text) as Outbox);
  const end = withColumns(rest?.end ?? readEnd(outbox.end, rest?.unhandled ?? []), columns);
  return {
    calls: outbox.calls.map((call) => readCall(call, columns)),
    logs: outbox.logs.map(([level, text]) => ({ level, text })),
    output: outbox.output,
    progress: outbox.progress.map(([message, kind]) => ({ message, kind })),
    dropped: { logs: outbox.dropped[0], progress: outbox.dropped[1] },
    unobservable: rest?.unobservable ?? [],
    ...(end === undefined ? {} : { end }),
    computeMs,
    memoryBytes,
    compilationCacheHit: (kind & ReportKind.cacheHit) !== 0,
  };
}

/** The last segment of a run that ended on the host's side. */
export function endSegment(end: SandboxEnd): SandboxSegment {
  return {
    calls: [],
    logs: [],
    output: '',
    progress: [],
    dropped: { logs: 0, progress: 0 },
    unobservable: [],
    end,
    computeMs: 0,
    memoryBytes: 0,
    compilationCacheHit: false,
  };
}

function readCall(
  [callIndex, name, argsJson, line, byteColumn, argsProblem]: Outbox['calls'][number],
  columns: ColumnReader,
): SandboxCall {
  const column = columns.column(line, byteColumn);
  return { callIndex, name, argsJson, line, column, ...(argsProblem === undefined ? {} : { argsProblem }) };
}

function readEnd(end: Outbox['end'], unhandled: readonly GuestThrow[]): SandboxEnd | undefined {
  if (end === undefined) return undefined;
  switch (end[0]) {
    case 'returned':
      return { type: 'returned', json: end[1] as string | undefined, unhandled };
    case 'threw':
      return { type: 'threw', error: end[1] as never, unhandled };
    case 'unserializable':
      return { type: 'unserializable', path: end[1] as string, reason: end[2] as string };
    case 'return_too_large':
      return {
        type: 'return_too_large',
        bytes: end[1] as number,
        head: end[2] as string,
        largestKeys: end[3] as string[],
      };
    default:
      return { type: 'internal', detail: `unknown end ${end[0]}` };
  }
}

/** Traces with the columns of the source instead of the engine's. */
function withColumns(end: SandboxEnd | undefined, columns: ColumnReader): SandboxEnd | undefined {
  if (end === undefined || columns.areBytes) return end;
  const mended = (thrown: GuestThrow): GuestThrow => ({ ...thrown, stack: columns.stack(thrown.stack) });
  switch (end.type) {
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
