import { randomBytes } from 'node:crypto';
import type { EventPayload, StreamEvent } from '../protocol/index.js';

export interface RunIdentity {
  runId: string;
  threadId: string;
  turnId: string;
}

/** Puts payloads into envelopes, in order and without gaps, and hands them on. */
export class EventStream {
  readonly identity: RunIdentity;
  readonly #listeners: readonly ((event: StreamEvent) => void)[];
  #seq = 0;

  constructor(identity: RunIdentity, listeners: readonly (((event: StreamEvent) => void) | undefined)[]) {
    this.identity = identity;
    this.#listeners = listeners.filter((listener) => listener !== undefined);
  }

  /** Costs nothing where nobody listens. A listener that throws does not change the run. */
  emit(payload: EventPayload): void {
    if (this.#listeners.length === 0) return;
    const event: StreamEvent = {
      event_id: `evt_${this.identity.runId}_${this.#seq}`,
      run_id: this.identity.runId,
      thread_id: this.identity.threadId,
      turn_id: this.identity.turnId,
      seq: this.#seq++,
      timestamp: Date.now(),
      payload,
    };
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch {
        // The host's listener failed; the run goes on.
      }
    }
  }

  get isHeard(): boolean {
    return this.#listeners.length > 0;
  }
}

// Unique within the process by the count, and between processes by 96 bits of chance.
const PROCESS_PART = randomBytes(12).toString('base64url');
let made = 0;

/** A short unique name, as in `scr_4f0…_1a`. Names are no secrets: nothing is granted by knowing one. */
export function newId(prefix: string): string {
  return `${prefix}_${PROCESS_PART}_${(made++).toString(36)}`;
}
