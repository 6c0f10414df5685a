import type { OutputItem, StreamEvent } from '../protocol/index.js';
import { foldResponse } from './reducer.js';

/**
 * The items to show for a turn: the input of the run and the items folded from its events. The events of a started run
 * contain its input; until the run has started, `input` is used.
 */
export function runItems(input: readonly OutputItem[], events: readonly StreamEvent[]): readonly OutputItem[] {
  const start = events.find(({ payload }) => payload.type === 'response_start');
  const given = start?.payload.type === 'response_start' ? start.payload.input : undefined;
  const before = Array.isArray(given) ? (given as OutputItem[]) : input;
  return [...before, ...foldResponse(events).output_items];
}
