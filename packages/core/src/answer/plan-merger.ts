import type { EventPayload } from '../protocol/index.js';

type ItemPayload = Extract<EventPayload, { item_id: string }>;

/** A run has one plan: each later plan item becomes an update of the first. */
export class PlanMerger {
  #id: string | undefined;
  #later: Set<string> | undefined;

  /** Undefined: the payload changes nothing and is not emitted. */
  take(payload: EventPayload): EventPayload | undefined {
    if (payload.type === 'item_start' && payload.item_type === 'plan') return this.#start(payload);
    if (this.#later === undefined || !isOfItem(payload) || !this.#later.has(payload.item_id)) return payload;
    if (payload.type !== 'item_done') return { ...payload, item_id: this.#id! };
    const { type: _type, id: _id, ...changes } = payload.final_item;
    return { type: 'item_update', item_id: this.#id!, changes };
  }

  #start(payload: Extract<EventPayload, { type: 'item_start' }>): EventPayload | undefined {
    if (this.#id !== undefined) {
      this.#later ??= new Set();
      this.#later.add(payload.item_id);
      return undefined;
    }
    this.#id = payload.item_id;
    return payload;
  }
}

function isOfItem(payload: EventPayload): payload is ItemPayload {
  return payload.type.startsWith('item_');
}
