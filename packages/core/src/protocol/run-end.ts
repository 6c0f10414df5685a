import type { EventPayload } from './events.js';

/** True for a run's last event. */
export function endsRun(payload: EventPayload): boolean {
  return payload.type === 'response_done' && payload.status !== 'suspended';
}
