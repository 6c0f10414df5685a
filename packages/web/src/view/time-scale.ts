import type { CallView, Span } from './types.ts';

/** The maximum drawn length of a pause in which nothing ran, as a share of the time in which something ran. */
const PAUSE_SHARE = 0.18;
/** Pauses up to this length, in ms, are never shortened. */
const MIN_PAUSE_MS = 30;

export interface TimeScale {
  /** Returns the position of a time, from 0 to 1. */
  position(at: number): number;
  /** The time in which something ran, plus the shortened pauses, in ms. */
  readonly lengthMs: number;
}

/**
 * Maps times to positions. An approval may wait for days: a wait during which no other call runs is shortened, so that
 * the calls stay visible. Times are in ms since 1970.
 */
export function timeScale(from: number, to: number, calls: readonly CallView[]): TimeScale {
  const end = Math.max(to, from + 1);
  const pauses = idleWaits(calls, end).map((span) => ({ from: Math.max(span.from, from), to: Math.min(span.to, end) }));
  const idleMs = pauses.reduce((sum, pause) => sum + Math.max(0, pause.to - pause.from), 0);
  const activeMs = Math.max(end - from - idleMs, 1);
  const longest = Math.max(activeMs * PAUSE_SHARE, MIN_PAUSE_MS);
  const drawn = (pause: { from: number; to: number }) => Math.min(Math.max(pause.to - pause.from, 0), longest);
  const lengthMs = activeMs + pauses.reduce((sum, pause) => sum + drawn(pause), 0);
  const position = (at: number) => {
    let shortened = 0;
    for (const pause of pauses) {
      const length = pause.to - pause.from;
      if (length <= 0 || at <= pause.from) continue;
      const passed = Math.min(at - pause.from, length);
      shortened += passed - (passed / length) * drawn(pause);
    }
    return Math.min(Math.max((at - from - shortened) / lengthMs, 0), 1);
  };
  return { position, lengthMs };
}

/** The parts of waits in which no call runs, in order and without overlaps. */
function idleWaits(calls: readonly CallView[], end: number): { from: number; to: number }[] {
  const waits = merge(calls.flatMap(({ wait }) => (wait === undefined ? [] : [closedSpan(wait, end)])));
  const busy = merge(
    calls.flatMap(({ startedAt, endedAt }) =>
      startedAt === undefined ? [] : [{ from: startedAt, to: endedAt ?? end }],
    ),
  );
  return waits.flatMap((wait) => {
    let parts = [wait];
    for (const span of busy) {
      parts = parts.flatMap((part) => [
        ...(span.from > part.from ? [{ from: part.from, to: Math.min(part.to, span.from) }] : []),
        ...(span.to < part.to ? [{ from: Math.max(part.from, span.to), to: part.to }] : []),
      ]);
    }
    return parts.filter((part) => part.to > part.from);
  });
}

function closedSpan({ from, to }: Span, end: number): { from: number; to: number } {
  return { from, to: to ?? end };
}

function merge(spans: readonly { from: number; to: number }[]): { from: number; to: number }[] {
  const merged: { from: number; to: number }[] = [];
  for (const span of spans.toSorted((left, right) => left.from - right.from)) {
    const last = merged.at(-1);
    if (last !== undefined && span.from <= last.to) last.to = Math.max(last.to, span.to);
    else merged.push({ ...span });
  }
  return merged;
}
