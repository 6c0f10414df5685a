import { INVISIBLE_CHARACTERS } from '@toolscript/core/stream';

const INVISIBLE = new RegExp(String.raw`(?![\t\n\r])[${INVISIBLE_CHARACTERS}]`, 'gu');

/**
 * Code or data with each character that is invisible or reorders others as `\u{…}`, so that it reads as it runs. White
 * space stays.
 */
export function visible(text: string): string {
  return text.replace(INVISIBLE, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`);
}
