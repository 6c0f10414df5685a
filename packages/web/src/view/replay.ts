import type { StreamEvent } from '@toolscript/core/stream';
import { RunFold } from './run-fold.ts';
import type { ScriptView } from './types.ts';

/** The maximum interval between two events in a replay, in ms. */
const MAX_PAUSE_MS = 1500;
/** The minimum interval between two events in a replay, in ms. */
const MIN_PAUSE_MS = 10;

export interface ReplayFrame {
  /** The number of events that have happened. */
  readonly events: number;
  /** The time at which the frame is shown, in ms after the first frame at normal speed. */
  readonly atMs: number;
}

/** The frames of one script's replay, with one frame for each event that concerns the script. */
export function replayFrames(events: readonly StreamEvent[], { callId, scriptId }: ScriptView): ReplayFrame[] {
  const items = new Set<string>();
  const frames: ReplayFrame[] = [];
  let atMs = 0;
  let last: number | undefined;
  for (const [index, { payload, timestamp }] of events.entries()) {
    if (payload.type === 'item_done' && 'call_id' in payload.final_item && payload.final_item.call_id === callId)
      items.add(payload.item_id);
    if (payload.type === 'item_start' && payload.initial?.['call_id'] === callId) items.add(payload.item_id);
    if (!concerns(payload, scriptId, items)) continue;
    if (last !== undefined) atMs += Math.min(Math.max(timestamp - last, MIN_PAUSE_MS), MAX_PAUSE_MS);
    last = timestamp;
    frames.push({ events: index + 1, atMs });
  }
  return frames;
}

function concerns(payload: StreamEvent['payload'], scriptId: string | undefined, items: ReadonlySet<string>): boolean {
  if (payload.type === 'approval_requested') return payload.approval.script_id === scriptId;
  if (payload.type === 'response_done') return false;
  if ('item_id' in payload) return items.has(payload.item_id as string);
  return 'script_id' in payload && payload.script_id === scriptId;
}

/** A script as it was after each of its run's events. */
export class Replay {
  readonly #events: readonly StreamEvent[];
  readonly #callId: string;
  #fold = new RunFold();
  #appliedCount = 0;

  constructor(events: readonly StreamEvent[], callId: string) {
    this.#events = events;
    this.#callId = callId;
  }

  /**
   * The script after `count` events, and the time of the last of these events, in ms since 1970. Increasing `count` is
   * cheap.
   */
  after(count: number): { readonly script: ScriptView | undefined; readonly at: number } {
    if (count < this.#appliedCount) {
      this.#fold = new RunFold();
      this.#appliedCount = 0;
    }
    for (; this.#appliedCount < count; this.#appliedCount += 1) this.#fold.apply(this.#events[this.#appliedCount]!);
    const entries = this.#fold.view().entries;
    const entry = entries.find((candidate) => candidate.type === 'script' && candidate.script.callId === this.#callId);
    return { script: entry?.type === 'script' ? entry.script : undefined, at: this.#events[count - 1]?.timestamp ?? 0 };
  }
}

/** The index of the frame that is shown at the time `atMs`. */
export function frameAt(frames: readonly ReplayFrame[], atMs: number): number {
  const next = frames.findIndex((frame) => frame.atMs > atMs);
  return next === -1 ? frames.length - 1 : Math.max(0, next - 1);
}
