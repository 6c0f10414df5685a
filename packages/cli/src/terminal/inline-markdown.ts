import type { Style } from './screen.js';

export interface Piece {
  readonly text: string;
  readonly look: 'plain' | 'bold' | 'italic' | 'code' | 'dim';
}

export type Mark = (text: string) => string;

export function pieceMark({ look }: Piece, { bold, italic, cyan, dim }: Style): Mark {
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

/** Markers that may start a construct. A marker inside a word is part of the word: `a_b`, `2**3`, `list[0]`. */
const MAYBE = /`|(?<![\p{L}\p{N}_*])\*|(?<![\p{L}\p{N}\])])\[/u;

const WHOLE = [
  { pattern: /^(`+)(?!`)(.+?)(?<!`)\1(?!`)/u, pieces: ([, , code = '']: string[]) => [piece(code, 'code')] },
  {
    pattern: /^\*\*(?=\S)([^*]*[^*\s])\*\*(?!\*)/u,
    pieces: ([, text = '']: string[]) => [...styledPieces(text, 'bold')],
  },
  {
    pattern: /^\*(?=[^\s*])([^*]*[^*\s])\*(?!\*)/u,
    pieces: ([, text = '']: string[]) => [...styledPieces(text, 'italic')],
  },
  {
    pattern: /^\[([^[\]]+)\]\(([^()\s]*(?:\([^()\s]*\)[^()\s]*)*)\)/u,
    pieces: ([, text = '', href = '']: string[]) =>
      text === href ? [piece(href, 'plain')] : [piece(text, 'plain'), piece(` (${href})`, 'dim')],
  },
];

/** The maximum length of a construct. A longer one is shown as plain text. */
const LONGEST = 400;

/** The maximum length of a character, in UTF-16 units. */
const MAX_CHARACTER = 2;

/** Parses the text of one line as it streams. Shows a marker as text if its construct is incomplete. */
export class InlineReader {
  #text = '';
  /** The start of the unread text; the character before it shows whether a marker is inside a word. */
  #at = 0;
  readonly #maybe = new RegExp(MAYBE, 'gu');

  /** Returns the text that can be shown. Buffers a marker whose construct later text may complete. */
  push(text: string): Piece[] {
    this.#text = this.#text.slice(Math.max(0, this.#at - MAX_CHARACTER)) + text;
    this.#at = Math.min(this.#at, MAX_CHARACTER);
    return [...this.#read(false)];
  }

  /** Ends the line. Returns the rest of its text. */
  end(): Piece[] {
    return [...this.#read(true)];
  }

  *#read(isWhole: boolean): Generator<Piece> {
    while (this.#at < this.#text.length) {
      const next = this.#next(isWhole);
      if (next === undefined) return;
      this.#at += next.length;
      yield* next.pieces;
    }
  }

  #next(isWhole: boolean): { pieces: Piece[]; length: number } | undefined {
    this.#maybe.lastIndex = this.#at;
    const sign = this.#maybe.exec(this.#text)?.index ?? this.#text.length;
    if (sign > this.#at) return this.#plain(sign - this.#at);
    // One character more than the maximum length shows whether the construct ends there.
    const text = this.#text.slice(this.#at, this.#at + LONGEST + 1);
    for (const { pattern, pieces } of WHOLE) {
      const match = pattern.exec(text);
      if (match === null || match[0].length > LONGEST) continue;
      if (isWhole || match[0].length < text.length) return { pieces: pieces(match), length: match[0].length };
    }
    if (!isWhole && text.length <= LONGEST) return undefined;
    return this.#plain(/^(?:`+|\*+|\[)/u.exec(text)?.[0].length ?? 1);
  }

  #plain(length: number): { pieces: Piece[]; length: number } {
    return { pieces: [piece(this.#text.slice(this.#at, this.#at + length), 'plain')], length };
  }
}

export function inlinePieces(text: string): Piece[] {
  const reader = new InlineReader();
  return [...reader.push(text), ...reader.end()];
}

function* styledPieces(text: string, look: Piece['look']): Generator<Piece> {
  for (const inner of inlinePieces(text)) yield inner.look === 'plain' ? piece(inner.text, look) : inner;
}

function piece(text: string, look: Piece['look']): Piece {
  return { text, look };
}
