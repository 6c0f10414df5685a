import { textWidth } from './width.js';

type Mark = (piece: string) => string;

/**
 * Breaks running text into lines between its words. A word is written when it is complete. The terminal wraps a word
 * that is longer than a line.
 */
export class WordWrap {
  readonly #write: (text: string) => void;
  readonly #columns: () => number;
  #prefix = '';
  /** True if a line is open: its prefix was written. */
  #isOpen = false;
  /** The width of the open line, and (`#start`) that of its prefix alone. */
  #column = 0;
  #start = 0;
  #word = { text: '', width: 0 };
  #space = 0;

  constructor(write: (text: string) => void, columns: () => number) {
    this.#write = write;
    this.#columns = columns;
  }

  /** Sets the prefix of every line that is opened later. */
  setPrefix(text: string): void {
    this.#prefix = text;
  }

  /** Opens a line, if none is open. */
  startLine(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.#write(this.#prefix);
    this.#start = visibleWidth(this.#prefix);
    this.#column = this.#start;
  }

  /** Adds running text. `mark` styles each word. */
  add(text: string, mark: Mark): void {
    for (const [piece] of text.matchAll(/\s+|\S+/gu)) {
      if (piece.trim() === '') this.#addSpace(piece.length);
      else this.#word = { text: this.#word.text + mark(piece), width: this.#word.width + textWidth(piece) };
    }
  }

  /** Writes a text unchanged, including its white space, on the open line. */
  addRaw(text: string, mark: Mark): void {
    this.flush();
    this.startLine();
    this.#write(mark(text));
    this.#column += textWidth(text);
  }

  newLine(): void {
    this.flush();
    this.#breakLine();
  }

  /** Writes the buffered word. */
  flush(): void {
    const { text, width } = this.#word;
    if (text === '') return;
    this.#word = { text: '', width: 0 };
    const isFull = this.#column > this.#start && this.#column + this.#space + width > this.#columns();
    if (this.#isOpen && isFull) this.#breakLine();
    this.startLine();
    this.#write(' '.repeat(this.#space) + text);
    this.#column += this.#space + width;
    this.#space = 0;
  }

  #breakLine(): void {
    this.#write('\n');
    this.#isOpen = false;
    this.#space = 0;
    this.#column = 0;
    this.#start = 0;
  }

  #addSpace(length: number): void {
    this.flush();
    if (this.#column > this.#start) this.#space += length;
  }
}

/** The width of a text without the escape sequences of its style. */
function visibleWidth(text: string): number {
  return textWidth(text.replaceAll(/\x1b\[\d+m/gu, ''));
}
