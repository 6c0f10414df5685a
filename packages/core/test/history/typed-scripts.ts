import { expect } from 'vitest';
import { StreamEventSchema, type StreamEvent } from '#core/protocol/index.js';

type Payload = StreamEvent['payload'];

/** The emitted source of streamed scripts, by item. */
export function typed(events: readonly StreamEvent[]): Map<string, string> {
  const sources = new Map<string, string>();
  for (const { payload } of events) {
    if (payload.type === 'item_start' && payload.item_type === 'script_execution') sources.set(payload.item_id, '');
    if (payload.type !== 'item_delta' || !sources.has(payload.item_id)) continue;
    sources.set(payload.item_id, sources.get(payload.item_id)! + payload.delta);
  }
  return sources;
}

/** Every item starts once, then has its deltas, then ends once. No item is open at the end. */
export function expectWholeItems(events: readonly StreamEvent[]): void {
  const states = new Map<string, 'open' | 'ended'>();
  for (const { payload } of events) {
    if (payload.type === 'item_start') {
      expect(states.get(payload.item_id)).toBeUndefined();
      states.set(payload.item_id, 'open');
    }
    if (payload.type === 'item_delta') expect(states.get(payload.item_id)).toBe('open');
    if (payload.type !== 'item_done' && payload.type !== 'item_cancelled') continue;
    expect(states.get(payload.item_id)).toBe('open');
    states.set(payload.item_id, 'ended');
  }
  expect([...states.values()].filter((state) => state === 'open')).toEqual([]);
  for (const event of events) expect(StreamEventSchema.safeParse(event).error).toBeUndefined();
}

/** Members with different values in every run: times, sizes of texts with ids in them, sealed data. */
const MEASURED = new Set(['metadata', 'at_ms', 'started_at_ms', 'created_at', 'duration_ms', 'suspension', 'usage']);

/** Replaces names by numbers in the order of their appearance, and removes times. */
export function comparable(values: readonly unknown[]): unknown[] {
  const names = new Map<string, string>();
  const text = JSON.stringify(values, (key, value: unknown) => (MEASURED.has(key) ? undefined : value));
  const named = text.replaceAll(/\b(?:item|call|scr|apr|answer)_[\w-]{6,}/gu, (name) => {
    const known = names.get(name) ?? `name_${names.size}`;
    names.set(name, known);
    return known;
  });
  return JSON.parse(named) as unknown[];
}

/** The events without the starts of scripts, and of blocks that never became a script. */
export function withoutTyping(events: readonly StreamEvent[]): Payload[] {
  const scripts = typed(events);
  const typing = ['item_start', 'item_delta', 'item_cancelled'];
  return events
    .map(({ payload }) => payload)
    .filter((payload) => !(typing.includes(payload.type) && 'item_id' in payload && scripts.has(payload.item_id)));
}
