/**
 * The one list of characters that show nothing, or change how others show: controls, formats (bidi, zero-width, tags,
 * soft hyphen), surrogates without their other half, line and paragraph separators, everything that Unicode lets a
 * program leave out (variation selectors, fillers), and the braille blank. For the inside of a character class of a
 * regular expression with the flag `u`.
 */
export const INVISIBLE_CHARACTERS = String.raw`\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800`;
