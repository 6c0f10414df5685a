import { INVISIBLE_CHARACTERS } from '../protocol/invisible.js';

/** What is invisible, and what may look like anything: private and unassigned code points, separators but the space. */
const HIDDEN = new RegExp(String.raw`[${INVISIBLE_CHARACTERS}\p{Co}\p{Cn}]|(?! )\p{Zs}`, 'gu');

/** The text with every such character written out as `\u{…}`. */
export function showHidden(text: string): string {
  return text.replace(HIDDEN, (character) => `\\u{${(character.codePointAt(0) as number).toString(16)}}`);
}
