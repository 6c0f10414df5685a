import type { EventPayload, StreamEvent } from '@toolscript/core/protocol';

/**
 * The finished items and settled calls of a run. A script that starts again gives its calls the same ids, so a repeated
 * read is no progress.
 */
export class RunProgress {
  readonly #known = new Set<string>();

  constructor(events: readonly StreamEvent[]) {
    for (const { payload } of events) this.take(payload);
  }

  /** Returns whether the event records work that no earlier event records. */
  take(payload: EventPayload): boolean {
    if (payload.type === 'agent_event') return this.take(payload.event as EventPayload);
    const id = finishedId(payload);
    if (id === undefined || this.#known.has(id)) return false;
    this.#known.add(id);
    return true;
  }
}

function finishedId(payload: EventPayload): string | undefined {
  if (payload.type === 'item_done') return payload.item_id;
  return payload.type === 'tool_call_done' ? payload.call_id : undefined;
}
