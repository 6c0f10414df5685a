import type { EventPayload, StreamEvent } from './events.js';

export interface RunIdentity {
  runId: string;
  threadId: string;
  turnId: string;
  /** The run that launched this one, which is a sub-agent's. */
  parentRunId?: string;
  /** The chain of agents from the first run to this one, inclusive. */
  agents?: readonly string[];
}

export function eventIdOf(runId: string, seq: number): string {
  return `evt_${runId}_${seq}`;
}

/** The event as that of another run. */
export function eventOfRun(event: StreamEvent, { runId, threadId, turnId }: RunIdentity): StreamEvent {
  return { ...event, event_id: eventIdOf(runId, event.seq), run_id: runId, thread_id: threadId, turn_id: turnId };
}

/** Wraps the payloads of one run in envelopes, with consecutive `seq` values. */
export class EventEnvelopes {
  readonly identity: RunIdentity;
  #seq: number;

  /** `nextSeq`: where a resumed run continues. */
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

/** The event of a sub-agent that an event of its run contains; undefined if it contains none. */
export function subAgentEvent({ thread_id, turn_id, payload }: StreamEvent): StreamEvent | undefined {
  if (payload.type !== 'agent_event') return undefined;
  const { agent_run_id: run_id, seq, timestamp, event } = payload;
  const envelope = { event_id: eventIdOf(run_id, seq), run_id, thread_id, turn_id, seq, timestamp };
  return { ...envelope, payload: event as EventPayload };
}
