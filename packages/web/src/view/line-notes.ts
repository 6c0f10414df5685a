import type { CallStatus, CallView, Effect } from './types.ts';

/** The calls of one source line. */
export interface LineNote {
  readonly line: number;
  readonly callIds: readonly string[];
  /** The tools of the calls, such as `readFile ×3`. */
  readonly label: string;
  /** The time from the first start to the last end, in ms; undefined if no call has ended. */
  readonly durationMs?: number | undefined;
  readonly effect: Effect;
  readonly status: 'running' | 'waiting' | 'failed' | 'stopped' | 'completed';
}

const EFFECT_ORDER: readonly Effect[] = ['read', 'write', 'external'];

export function lineNotes(calls: readonly CallView[]): ReadonlyMap<number, LineNote> {
  const byLine = groupByLine(calls);
  const notes = new Map<number, LineNote>();
  for (const [line, group] of byLine) if (line > 0) notes.set(line, lineNote(line, group));
  return notes;
}

function groupByLine(calls: readonly CallView[]): Map<number, CallView[]> {
  const groups = new Map<number, CallView[]>();
  for (const call of calls) {
    const line = call.line ?? 0;
    const group = groups.get(line);
    if (group === undefined) groups.set(line, [call]);
    else group.push(call);
  }
  return groups;
}

function lineNote(line: number, calls: readonly CallView[]): LineNote {
  const counts = new Map<string, number>();
  for (const { tool } of calls) counts.set(tool, (counts.get(tool) ?? 0) + 1);
  const label = [...counts].map(([tool, count]) => (count === 1 ? tool : `${tool} ×${count}`)).join(', ');
  const ends = calls.flatMap(({ endedAt }) => (endedAt === undefined ? [] : [endedAt]));
  const starts = calls.map(({ startedAt, requestedAt }) => startedAt ?? requestedAt);
  const order = Math.max(...calls.map(({ effect }) => EFFECT_ORDER.indexOf(effect)));
  return {
    line,
    callIds: calls.map(({ callId }) => callId),
    label,
    effect: EFFECT_ORDER[order] ?? 'external',
    status: combinedStatus(calls.map(({ status }) => status)),
    ...(ends.length === 0 ? {} : { durationMs: Math.max(0, Math.max(...ends) - Math.min(...starts)) }),
  };
}

function combinedStatus(statuses: readonly CallStatus[]): LineNote['status'] {
  if (statuses.some((status) => status === 'waiting' || status === 'awaiting_approval')) return 'waiting';
  if (statuses.some((status) => status === 'running' || status === 'detached')) return 'running';
  const ends = statuses.filter((status) => status !== 'completed');
  if (ends.length === 0) return 'completed';
  return ends.every((status) => status === 'denied' || status === 'aborted') ? 'stopped' : 'failed';
}
