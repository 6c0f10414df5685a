/**
 * The single list of characters that are invisible or change how others appear: controls, formats (bidi, zero-width,
 * tags, soft hyphen), unpaired surrogates, line and paragraph separators, every character that Unicode allows a program
 * to ignore (variation selectors, fillers), and the braille blank. Use it inside a character class of a regular
 * expression with the flag `u`.
 */
export const INVISIBLE_CHARACTERS = String.raw`\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800`;

/**
 * Matches one invisible or ambiguous character. The ambiguous ones are private and unassigned code points, and
 * separators other than the space.
 */
const HIDDEN = new RegExp(String.raw`[${INVISIBLE_CHARACTERS}\p{Co}\p{Cn}]|(?! )\p{Zs}`, 'gu');

/** The text with every invisible or ambiguous character escaped as `\u{…}`. */
export function showHidden(text: string): string {
  return text.replace(HIDDEN, (character) => `\\u{${(character.codePointAt(0) as number).toString(16)}}`);
}
