/**
 * The one list of characters that show nothing, or change how others show: controls, formats (bidi, zero-width, tags,
 * soft hyphen), surrogates without their other half, line and paragraph separators, everything that Unicode lets a
 * program leave out (variation selectors, fillers), and the braille blank. For the inside of a character class of a
 * regular expression with the flag `u`.
 */
export const INVISIBLE_CHARACTERS = String.raw`\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800`;

/** What is invisible, and what may look like anything: private and unassigned code points, separators but the space. */
const HIDDEN = new RegExp(String.raw`[${INVISIBLE_CHARACTERS}\p{Co}\p{Cn}]|(?! )\p{Zs}`, 'gu');

/** The text with every such character written out as `\u{…}`. */
export function showHidden(text: string): string {
  return text.replace(HIDDEN, (character) => `\\u{${(character.codePointAt(0) as number).toString(16)}}`);
}
