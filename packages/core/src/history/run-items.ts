import type { OutputItem, StreamEvent } from '../protocol/index.js';
import { ResponseReducer } from './reducer.js';

/**
 * The items to show for a turn: the input of the run and the items folded from its events. The events of a started run
 * contain its input; until the run has started, `input` is used. Events that are applied need no longer be in memory.
 */
export class RunItems {
  readonly #reducer = new ResponseReducer();
  #input: readonly OutputItem[];
  #isStarted = false;

  constructor(input: readonly OutputItem[]) {
    this.#input = input;
  }

  apply(event: StreamEvent): void {
    const { payload } = event;
    if (payload.type === 'response_start' && !this.#isStarted) {
      this.#isStarted = true;
      if (Array.isArray(payload.input)) this.#input = payload.input as OutputItem[];
    }
    this.#reducer.apply(event);
  }

  get items(): readonly OutputItem[] {
    return [...this.#input, ...this.#reducer.response({ includePending: true }).output_items];
  }
}

/** The items of a run whose events are all in memory. */
export function runItems(input: readonly OutputItem[], events: Iterable<StreamEvent>): readonly OutputItem[] {
  const run = new RunItems(input);
  for (const event of events) run.apply(event);
  return run.items;
}
