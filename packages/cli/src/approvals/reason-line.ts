import { textWidth } from '../terminal/width.js';
import { visibleLine } from '../terminal/untrusted.js';
import { CTRL_C } from './question.js';

const MAX_REASON_LENGTH = 1_000;
const BACKSPACE = /[\b\x7f]/u;
/** Sequences of keys without text, such as arrows. */
const ESCAPES = /\x1b(?:\[[\d;?]*[ -/]*[@-~]|O.)/gu;

/** The state after some keys: more are needed, the line has ended, or the user has pressed Ctrl-C. */
export type TypedState = 'more' | 'end' | 'interrupt';

/** Reads a line in raw mode: the reason why the user denies a call. */
export class ReasonLine {
  readonly #write: (text: string) => void;
  #text = '';

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  get text(): string {
    return this.#text.trim();
  }

  take(keys: string): TypedState {
    for (const key of keys.replaceAll(ESCAPES, '')) {
      if (key === CTRL_C) return 'interrupt';
      // Escape and Ctrl-D also end the line: the call is refused already.
      if (key === '\r' || key === '\n' || key === '\x1b' || key === '\x04') return 'end';
      if (BACKSPACE.test(key)) this.#erase();
      else this.#add(key);
    }
    return 'more';
  }

  #add(key: string): void {
    const shown = visibleLine(key);
    if (shown !== key || this.#text.length >= MAX_REASON_LENGTH) return;
    this.#text += key;
    this.#write(key);
  }

  #erase(): void {
    const last = [...this.#text].at(-1);
    if (last === undefined) return;
    this.#text = this.#text.slice(0, -last.length);
    this.#write('\b \b'.repeat(textWidth(last)));
  }
}
