/**
 * The Markdown context of a line. `quoted`: the line begins with `>`. `indented`: it begins with a tab or four spaces,
 * as a code block does. List markers before them do not count.
 */
export type LinePlace = 'plain' | 'quoted' | 'indented';

const CODE_INDENT = 4;

/** Reads lines piece by piece, and finds the context of the newest line. */
export class LineReader {
  #place: LinePlace | undefined;
  /** Columns of indentation since the line's start or its last list marker. */
  #columns = 0;
  /** The characters of the list marker that is being read. */
  #marker = '';

  /** The context of the line as far as it was read. */
  get place(): LinePlace {
    return this.#place ?? 'plain';
  }

  /** The next piece continues a line of this context. */
  start(place: LinePlace): void {
    this.#place = place;
  }

  read(text: string, from: number, to: number): void {
    let index = from;
    const lineBreak = text.slice(from, to).lastIndexOf('\n');
    if (lineBreak !== -1) {
      index += lineBreak + 1;
      this.#place = undefined;
      this.#columns = 0;
      this.#marker = '';
    }
    for (; index < to && this.#place === undefined; index += 1) this.#readHead(text[index]!);
  }

  #readHead(character: string): void {
    if (character === ' ' || character === '\t') return this.#indent(character === '\t' ? CODE_INDENT : 1);
    if (this.#marker === '' && character === '>') this.#place = 'quoted';
    else if (/[-*+]/u.test(character) && this.#marker === '') this.#marker = character;
    else if (/\d/u.test(character) && /^\d{0,8}$/u.test(this.#marker)) this.#marker += character;
    else if (/[.)]/u.test(character) && /^\d+$/u.test(this.#marker)) this.#marker += character;
    else if (character !== '\uFEFF' && character !== '\r') this.#place = 'plain';
  }

  #indent(columns: number): void {
    if (/^\d+$/u.test(this.#marker)) {
      this.#place = 'plain';
      return;
    }
    if (this.#marker === '') this.#columns += columns;
    else this.#columns = columns - 1;
    this.#marker = '';
    if (this.#columns >= CODE_INDENT) this.#place = 'indented';
  }
}
