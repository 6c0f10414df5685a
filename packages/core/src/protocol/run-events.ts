import type { EventPayload, StreamEvent } from './events.js';

export interface RunIdentity {
  runId: string;
  threadId: string;
  turnId: string;
  /** The run that launched this run of a sub-agent. */
  parentRunId?: string;
  /** The chain of agents from the agent of the first run to the agent of this run, inclusive. */
  agents?: readonly string[];
}

export function eventIdOf(runId: string, seq: number): string {
  return `evt_${runId}_${seq}`;
}

/** A copy of the event with the identity of the given run. */
export function eventOfRun(event: StreamEvent, { runId, threadId, turnId }: RunIdentity): StreamEvent {
  return { ...event, event_id: eventIdOf(runId, event.seq), run_id: runId, thread_id: threadId, turn_id: turnId };
}

/** Wraps the payloads of one run in envelopes, with consecutive `seq` values. */
export class EventEnvelopes {
  readonly identity: RunIdentity;
  #seq: number;

  /** `nextSeq` is the `seq` of the first payload; a resumed run continues with its next `seq`. */
  constructor(identity: RunIdentity, nextSeq = 0) {
    this.identity = identity;
    this.#seq = nextSeq;
  }

  get nextSeq(): number {
    return this.#seq;
  }

  next(payload: EventPayload): StreamEvent {
    const { runId, threadId, turnId } = this.identity;
    const seq = this.#seq++;
    return {
      event_id: eventIdOf(runId, seq),
      run_id: runId,
      thread_id: threadId,
      turn_id: turnId,
      seq,
      timestamp: Date.now(),
      payload,
    };
  }
}

/** The sub-agent's event inside an `agent_event`; undefined for any other event. */
export function subAgentEvent({ thread_id, turn_id, payload }: StreamEvent): StreamEvent | undefined {
  if (payload.type !== 'agent_event') return undefined;
  const { agent_run_id: run_id, seq, timestamp, event } = payload;
  const envelope = { event_id: eventIdOf(run_id, seq), run_id, thread_id, turn_id, seq, timestamp };
  return { ...envelope, payload: event as EventPayload };
}

interface Waiter {
  readonly upTo: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** A queue between a producer that never waits and a consumer that waits for items. */
export class EventQueue<Item> implements AsyncIterable<Item> {
  #items: Item[] = [];
  #ended = false;
  #wake: (() => void) | undefined;
  #pushed = 0;
  #handled = 0;
  #isLeft = false;
  #waiters: Waiter[] = [];

  push(item: Item): void {
    if (this.#ended) return;
    this.#pushed += 1;
    this.#items.push(item);
    this.#wake?.();
  }

  /** Ends the queue. Items pushed earlier are still delivered. */
  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  /**
   * Resolves when the consumer has handled every item pushed so far and has requested the next one. Rejects if the
   * consumer leaves before that.
   */
  handled(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiters.push({ upTo: this.#pushed, resolve, reject });
      this.#notify();
    });
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    try {
      for (;;) {
        const items = this.#items;
        this.#items = [];
        for (const item of items) {
          yield item;
          this.#handled += 1;
          if (this.#waiters.length > 0) this.#notify();
        }
        if (this.#items.length > 0) continue;
        if (this.#ended) return;
        await new Promise<void>((resolve) => (this.#wake = resolve));
        this.#wake = undefined;
      }
    } finally {
      this.#isLeft = true;
      this.#notify();
    }
  }

  #notify(): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const waiter of waiters) {
      if (this.#handled >= waiter.upTo) waiter.resolve();
      else if (this.#isLeft)
        waiter.reject(new Error('The consumer stopped before it handled the event. Read the stream to its end.'));
      else this.#waiters.push(waiter);
    }
  }
}

/** True for a run's last event. */
export function endsRun(payload: EventPayload): boolean {
  return payload.type === 'response_done' && payload.status !== 'suspended';
}
