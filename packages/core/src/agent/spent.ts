import type { EventPayload, Usage } from '../protocol/index.js';
import { addUsage, totalTokens } from './run-account.js';

/** The usage of a run and its sub-agents, read from its events. */
export interface SpentUsage {
  readonly usage: Usage | undefined;
  readonly tokens: number;
  readonly cost: number;
  readonly calls: number;
}

/**
 * Reads the payloads of a run's events, including those of its sub-agents. A request without `request_done` is not
 * counted.
 */
export function spentIn(payloads: Iterable<EventPayload>): SpentUsage {
  let usage: Usage | undefined;
  let cost = 0;
  let calls = 0;
  const add = (payload: EventPayload): void => {
    if (payload.type === 'agent_event') return add(payload.event as EventPayload);
    if (payload.type === 'tool_call_done') calls += 1;
    if (payload.type !== 'request_done') return;
    usage = addUsage(usage, payload.usage);
    cost += payload.cost ?? 0;
  };
  for (const payload of payloads) add(payload);
  return { usage, cost, calls, tokens: usage === undefined ? 0 : totalTokens(usage) };
}

/** The number of answers of the run's own model that have items among its events. */
export function answersIn(payloads: Iterable<EventPayload>): number {
  const ids = new Set<unknown>();
  for (const payload of payloads) {
    if (payload.type === 'item_start') ids.add(payload.initial?.['answer_id']);
    if (payload.type === 'item_done') ids.add(payload.final_item['answer_id']);
  }
  ids.delete(undefined);
  return ids.size;
}
