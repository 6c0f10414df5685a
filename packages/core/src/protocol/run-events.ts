import type { EventPayload, StreamEvent } from './events.js';

/** The ids that every event of a run carries. */
export interface RunIdentity {
  runId: string;
  threadId: string;
  turnId: string;
  /** The run that launched this run of a sub-agent. */
  parentRunId?: string | undefined;
  /** The run that began the chain of sub-agents to this run. */
  rootRunId?: string | undefined;
  /** The chain of agents from the agent of the first run to the agent of this run, inclusive. */
  agents?: readonly string[] | undefined;
}

export function eventId(runId: string, seq: number): string {
  return `evt_${runId}_${seq}`;
}

/**
 * Wraps the payloads of one run in envelopes, with consecutive `seq` values.
 *
 * @example
 *
 * ```ts
 * const envelopes = new EventEnvelopes({ runId: 'run_1', threadId: 'thread_1', turnId: 'turn_1' });
 * const first: StreamEvent = envelopes.next({ type: 'response_start', model: 'echo-1' });
 * ```
 */
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
      event_id: eventId(runId, seq),
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
  const envelope = { event_id: eventId(run_id, seq), run_id, thread_id, turn_id, seq, timestamp };
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
  #isEnded = false;
  #wake: (() => void) | undefined;
  #pushedCount = 0;
  #handledCount = 0;
  #isLeft = false;
  #waiters: Waiter[] = [];

  push(item: Item): void {
    if (this.#isEnded) return;
    this.#pushedCount += 1;
    this.#items.push(item);
    this.#wake?.();
  }

  /** Ends the queue. Items pushed earlier are still delivered. */
  end(): void {
    this.#isEnded = true;
    this.#wake?.();
  }

  /**
   * Resolves when the consumer has handled every item pushed so far and has requested the next one. Rejects if the
   * consumer leaves before that.
   */
  untilHandled(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiters.push({ upTo: this.#pushedCount, resolve, reject });
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
          this.#handledCount += 1;
          if (this.#waiters.length > 0) this.#notify();
        }
        if (this.#items.length > 0) continue;
        if (this.#isEnded) return;
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
      if (this.#handledCount >= waiter.upTo) waiter.resolve();
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
