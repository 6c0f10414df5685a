import { showHidden } from '../../protocol/invisible.js';

/**
 * Options of the text on which a user bases a decision. The text must show every character: characters that are
 * invisible or reorder text, unusual spaces, and private or unassigned code points are written as `\u{…}`. Line endings
 * and tabs are marked.
 */
export interface RenderOptions {
  /** Maximum characters of the result, without the note about the omitted part. Default 4000. */
  maxLength?: number | undefined;
}

const DEFAULT_MAX_LENGTH = 4_000;
/** The share of the maximum length that a truncated text uses for its end. */
const TAIL_SHARE = 0.3;

/** The mark for a space at the start or at the end. */
const EDGE_BLANK = '\\u{20}';

/**
 * Makes any text safe to show. Plain text stays unchanged; long text is truncated in the middle. A space at the end of
 * the text is escaped, and so is a space at the start of a text of one line, because two different names must never
 * look the same.
 */
export function renderForPerson(text: string, options: RenderOptions = {}): string {
  const maxLength = Math.max(1, Math.floor(options.maxLength ?? DEFAULT_MAX_LENGTH));
  if (maxLength <= 2 * EDGE_BLANK.length) return renderInside(text, maxLength);
  // defence: leading-blank-shown
  const first = /^ [^\n]*$/u.test(text) ? EDGE_BLANK : '';
  // defence: trailing-blank-shown
  const last = /. $|\n $/u.test(text) ? EDGE_BLANK : '';
  const inside = text.slice(first === '' ? 0 : 1, last === '' ? undefined : -1);
  return `${first}${renderInside(inside, maxLength - first.length - last.length)}${last}`;
}

function renderInside(text: string, maxLength: number): string {
  if (text.length <= maxLength) {
    const rendered = renderAll(text).join('');
    if (rendered.length <= maxLength) return rendered;
  }
  return renderCut(text, maxLength);
}

function renderCut(text: string, maxLength: number): string {
  const tailRoom = Math.floor(maxLength * TAIL_SHARE);
  const head = takeFrom(characters(text.slice(0, maxLength + 1)), maxLength - tailRoom);
  const rest = text.slice(head.length);
  const tail = takeFrom(characters(rest.slice(-tailRoom - 1)).toReversed(), tailRoom);
  const left = rest.length - tail.length;
  return `${head.pieces.join('')}\n[… ${left} characters left out …]\n${tail.pieces.toReversed().join('')}`;
}

/** Renders as many characters as fit; `length` is their length in the original. */
function takeFrom(source: readonly string[], room: number): { pieces: string[]; length: number } {
  const pieces: string[] = [];
  let used = 0;
  let length = 0;
  for (const character of source) {
    const piece = renderCharacter(character);
    if (used + piece.length > room) break;
    pieces.push(piece);
    used += piece.length;
    length += character.length;
  }
  return { pieces, length };
}

function renderAll(text: string): string[] {
  return characters(text).map(renderCharacter);
}

/** Splits into code points; a line ending of two characters and a literal `\u{` stay together. */
function characters(text: string): string[] {
  return text.match(/\r\n|\\u\{|[^]/gu) ?? [];
}

function renderCharacter(character: string): string {
  if (character === '\n') return '⏎\n';
  if (character === '\r\n') return '␍⏎\n';
  if (character === '\t') return '⇥ ';
  // Escapes the backslash, so that readers do not mistake literal text for an escape.
  if (character === '\\u{') return '\\\\u{';
  return showHidden(character);
}
