import { EventEnvelopes } from '../protocol/index.js';
import type { EventPayload, RunIdentity, StreamEvent } from '../protocol/index.js';

export type { RunIdentity } from '../protocol/index.js';
export { newId } from '../text/new-id.js';

/** Puts payloads into envelopes, in order and without gaps, and hands them on. */
export class EventStream {
  readonly identity: RunIdentity;
  readonly #envelopes: EventEnvelopes;
  readonly #listeners: readonly ((event: StreamEvent) => void)[];

  /** `nextSeq`: where a run goes on that was put aside. */
  constructor(identity: RunIdentity, listeners: readonly (((event: StreamEvent) => void) | undefined)[], nextSeq = 0) {
    this.identity = identity;
    this.#envelopes = new EventEnvelopes(identity, nextSeq);
    this.#listeners = listeners.filter((listener) => listener !== undefined);
  }

  /** Costs nothing where nobody listens. A listener that throws does not change the run. */
  emit(payload: EventPayload): void {
    if (this.#listeners.length === 0) return;
    const event = this.#envelopes.next(payload);
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch {
        // The host's listener failed; the run goes on.
      }
    }
  }

  get nextSeq(): number {
    return this.#envelopes.nextSeq;
  }

  get isHeard(): boolean {
    return this.#listeners.length > 0;
  }
}
