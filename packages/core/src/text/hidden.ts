/**
 * Everything but visible characters: controls, formats (bidi, zero-width, tags), surrogates without their
 * other half, private and unassigned code points, separators other than the space, default-ignorables
 * (variation selectors, fillers), and the braille blank.
 */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu;

/** The text with every such character written out as `\u{…}`. */
export function showHidden(text: string): string {
  return text.replace(HIDDEN, (character) => `\\u{${(character.codePointAt(0) as number).toString(16)}}`);
}
