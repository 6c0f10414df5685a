import type { Style } from './style.js';

export interface Piece {
  readonly text: string;
  readonly look: 'plain' | 'bold' | 'italic' | 'code' | 'dim';
}

export type Mark = (text: string) => string;

export function markOf({ look }: Piece, { bold, italic, cyan, dim }: Style): Mark {
  switch (look) {
    case 'plain':
      return (text) => text;
    case 'bold':
      return bold;
    case 'italic':
      return italic;
    case 'code':
      return cyan;
    case 'dim':
      return dim;
  }
}

/** What may begin something. Signs inside a word are part of it: `a_b`, `2**3`, `list[0]`. */
const MAYBE = /`|(?<![\p{L}\p{N}_*])\*|(?<![\p{L}\p{N}\])])\[/u;

const WHOLE = [
  { pattern: /^(`+)(?!`)(.+?)(?<!`)\1(?!`)/u, pieces: ([, , code = '']: string[]) => [piece(code, 'code')] },
  { pattern: /^\*\*(?=\S)([^*]*[^*\s])\*\*(?!\*)/u, pieces: ([, text = '']: string[]) => [...styled(text, 'bold')] },
  { pattern: /^\*(?=[^\s*])([^*]*[^*\s])\*(?!\*)/u, pieces: ([, text = '']: string[]) => [...styled(text, 'italic')] },
  {
    pattern: /^\[([^\]]+)\]\(([^()\s]*(?:\([^()\s]*\)[^()\s]*)*)\)/u,
    pieces: ([, text = '', href = '']: string[]) =>
      text === href ? [piece(href, 'plain')] : [piece(text, 'plain'), piece(` (${href})`, 'dim')],
  },
];

/** Longer than this nothing is waited for: it is shown as it is. */
const LONGEST = 400;

/** Reads the text of one line as it comes. Nothing is lost: a sign that nothing completes is text. */
export class InlineReader {
  #held = '';
  /** The character before it. */
  #before = '';
  readonly #maybe = new RegExp(MAYBE, 'gu');

  /** What can be shown already; a sign that what follows may complete waits. */
  push(text: string): Piece[] {
    this.#held += text;
    return [...this.#read(false)];
  }

  /** The line has ended. */
  end(): Piece[] {
    return [...this.#read(true)];
  }

  *#read(isWhole: boolean): Generator<Piece> {
    while (this.#held !== '') {
      const next = this.#next(isWhole);
      if (next === undefined) return;
      this.#before = this.#held.charAt(next.length - 1);
      this.#held = this.#held.slice(next.length);
      yield* next.pieces;
    }
  }

  #next(isWhole: boolean): { pieces: Piece[]; length: number } | undefined {
    const text = this.#held;
    this.#maybe.lastIndex = this.#before.length;
    const at = this.#maybe.exec(this.#before + text)?.index ?? Infinity;
    if (at > this.#before.length) return this.#plain(Math.min(at - this.#before.length, text.length));
    for (const { pattern, pieces } of WHOLE) {
      const match = pattern.exec(text);
      if (match === null || match[0].length > LONGEST) continue;
      // One more character may show that it is something else.
      if (isWhole || match[0].length < text.length) return { pieces: pieces(match), length: match[0].length };
    }
    if (!isWhole && text.length <= LONGEST) return undefined;
    return this.#plain(/^(?:`+|\*+|\[)/u.exec(text)?.[0].length ?? 1);
  }

  #plain(length: number): { pieces: Piece[]; length: number } {
    return { pieces: [piece(this.#held.slice(0, length), 'plain')], length };
  }
}

export function inlinePieces(text: string): Piece[] {
  const reader = new InlineReader();
  return [...reader.push(text), ...reader.end()];
}

function* styled(text: string, look: Piece['look']): Generator<Piece> {
  for (const inner of inlinePieces(text)) yield inner.look === 'plain' ? piece(inner.text, look) : inner;
}

function piece(text: string, look: Piece['look']): Piece {
  return { text, look };
}
