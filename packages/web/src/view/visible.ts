import { INVISIBLE_CHARACTERS } from '@toolscript/core/stream';

const INVISIBLE = new RegExp(String.raw`(?![\t\n\r])[${INVISIBLE_CHARACTERS}]`, 'gu');

/**
 * Code or data in which `\u{…}` replaces each character that is invisible or reorders other characters, so that the
 * text cannot mislead the reader. White space stays.
 */
export function visible(text: string): string {
  return text.replace(INVISIBLE, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`);
}
