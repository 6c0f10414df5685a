import { timeScale } from './time-scale.ts';
import type { CallView, ScriptView } from './types.ts';

export interface Bar {
  /** The left end of the bar, from 0 to 1. */
  readonly left: number;
  readonly width: number;
}

export interface WaterfallRow {
  readonly call: CallView;
  /** The time in which the call ran; undefined if the call has not started. */
  readonly run?: Bar | undefined;
  /** The time in which the call waited for a decision. */
  readonly wait?: Bar | undefined;
  /** The end of the last bar, from 0 to 1. */
  readonly end: number;
}

export interface Waterfall {
  readonly rows: readonly WaterfallRow[];
  /** Labels of the axis: positions from 0 to 1, and ms of shown time. */
  readonly ticks: readonly { readonly at: number; readonly ms: number }[];
}

/** The narrowest bar, as a share of the width. */
const MIN_WIDTH = 0.004;

/** The rows and ticks of a script's chart. `now`: in ms since 1970; calls that run or wait are drawn up to `now`. */
export function scriptWaterfall({ calls, startedAt, endedAt }: ScriptView, now: number): Waterfall {
  const from = startedAt ?? calls[0]?.requestedAt ?? now;
  const latest = Math.max(from, ...calls.map((call) => latestTime(call)));
  const to = endedAt ?? Math.max(now, from);
  const scale = timeScale(from, Math.max(to, latest), calls);
  const callBar = (begin: number, end: number): Bar => {
    const left = Math.min(scale.position(begin), 1 - MIN_WIDTH);
    return { left, width: Math.max(scale.position(end) - left, MIN_WIDTH) };
  };
  const rows = calls.map((call): WaterfallRow => {
    const last = call.endedAt ?? Math.max(to, latest);
    const wait = call.wait === undefined ? undefined : callBar(call.wait.from, call.wait.to ?? last);
    const run = call.startedAt === undefined ? undefined : callBar(call.startedAt, last);
    const bars = [wait, run].filter((bar) => bar !== undefined);
    return {
      call,
      ...(run === undefined ? {} : { run }),
      ...(wait === undefined ? {} : { wait }),
      end: Math.max(0, ...bars.map(({ left, width }) => left + width)),
    };
  });
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((at) => ({ at, ms: at * scale.lengthMs }));
  return { rows, ticks };
}

function latestTime({ endedAt, startedAt, requestedAt, wait }: CallView): number {
  return Math.max(requestedAt, startedAt ?? 0, endedAt ?? 0, wait?.to ?? 0);
}
