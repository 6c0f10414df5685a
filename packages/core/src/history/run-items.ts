import type { OutputItem, StreamEvent } from '../protocol/index.js';
import { foldResponse } from './reducer.js';

/**
 * A turn as it is shown: the input of the run, then the fold of its events. The events of a run that has started name
 * its input; until then `input` stands.
 */
export function runItems(input: readonly OutputItem[], events: readonly StreamEvent[]): readonly OutputItem[] {
  const start = events.find(({ payload }) => payload.type === 'response_start');
  const given = start?.payload.type === 'response_start' ? start.payload.input : undefined;
  const before = Array.isArray(given) ? (given as OutputItem[]) : input;
  return [...before, ...foldResponse(events).output_items];
}
