import type { StreamEvent } from '@toolscript/core/protocol';
import type { Screen } from '../terminal/screen.js';
import { jsonText } from '../terminal/untrusted.js';
import type { EventView } from './answer-view.js';

/** Writes every event as one line of JSON. */
export class JsonView implements EventView {
  readonly #screen: Screen;

  constructor(screen: Screen) {
    this.#screen = screen;
  }

  take(event: StreamEvent): void {
    this.#screen.write(`${jsonText(event)}\n`);
  }

  end(): void {}
}
