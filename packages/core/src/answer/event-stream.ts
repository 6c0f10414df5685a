import { EventEnvelopes } from '../protocol/index.js';
import type { EventPayload, RunIdentity, StreamEvent } from '../protocol/index.js';
import { present } from '../protocol/present.js';
import { PlanMerger } from './plan-merger.js';
import type { PayloadSink } from './script-host.js';

/** The events of one run: the only place that puts payloads into envelopes, in order and without gaps. */
export class EventStream implements PayloadSink {
  readonly identity: RunIdentity;
  readonly #envelopes: EventEnvelopes;
  readonly #plan = new PlanMerger();
  readonly #listeners: readonly ((event: StreamEvent) => void)[];

  /** `nextSeq`: the number of the first event, for a run that continues. Default 0. */
  constructor(identity: RunIdentity, listeners: readonly (((event: StreamEvent) => void) | undefined)[], nextSeq = 0) {
    this.identity = identity;
    this.#envelopes = new EventEnvelopes(identity, nextSeq);
    this.#listeners = listeners.filter((listener) => listener !== undefined);
  }

  /** Costs nothing without listeners. A listener that throws does not change the run. */
  emit(payload: EventPayload): void {
    if (this.#listeners.length === 0) return;
    const merged = this.#plan.take(payload);
    if (merged === undefined) return;
    const event = this.#envelopes.next(merged);
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch {
        // The host's listener failed; the run continues.
      }
    }
  }

  get nextSeq(): number {
    return this.#envelopes.nextSeq;
  }

  get hasListeners(): boolean {
    return this.#listeners.length > 0;
  }
}

/** Emits to both, for a host that keeps its own log in addition to the listeners of the harness. */
export function bothSinks(first: PayloadSink, second: PayloadSink): PayloadSink {
  if (!first.hasListeners) return second;
  return {
    ...present({ identity: second.identity, flush: second.flush, takeCall: second.takeCall }),
    emit(payload) {
      first.emit(payload);
      second.emit(payload);
    },
    hasListeners: true,
    get nextSeq() {
      return second.nextSeq;
    },
  };
}
