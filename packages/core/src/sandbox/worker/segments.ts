import type { GuestThrow, SandboxCall, SandboxEnd, SandboxSegment } from '../../protocol/index.js';
import { readOutbox, type Outbox } from '../quickjs/outbox.js';
import type { ColumnReader } from './columns.js';
import { ReportKind, type WorkerReport } from './messages.js';

const NOTHING: { outbox: Outbox; argsAt: number } = { outbox: {}, argsAt: 0 };

export function readSegment(report: WorkerReport, columns: ColumnReader): SandboxSegment {
  const [, kind, text, computeMs, memoryBytes, rest] = report;
  const { outbox, argsAt } = text === '' ? NOTHING : readOutbox(text);
  const { calls, logs, output, progress, dropped } = outbox;
  const end = withColumns(rest?.end ?? readEnd(outbox.end, rest?.unhandled ?? []), columns);
  return {
    calls: calls === undefined ? [] : readCalls(calls, text, argsAt, columns),
    logs: logs === undefined ? [] : logs.map(([level, text]) => ({ level, text })),
    output: output ?? '',
    progress: progress === undefined ? [] : progress.map(([message, kind]) => ({ message, kind })),
    dropped: dropped === undefined ? NONE_DROPPED : { logs: dropped[0], progress: dropped[1] },
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

function readCalls(
  calls: NonNullable<Outbox['calls']>,
  text: string,
  argsAt: number,
  columns: ColumnReader,
): SandboxCall[] {
  let from = argsAt;
  return calls.map(([callIndex, name, line, byteColumn, length, argsProblem]) => {
    const argsJson = text.slice(from, from + length);
    from += length;
    const column = columns.column(line, byteColumn);
    return argsProblem === undefined
      ? { callIndex, name, argsJson, line, column }
      : { callIndex, name, argsJson, argsProblem, line, column };
  });
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
