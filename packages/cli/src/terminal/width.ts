const WIDE =
  /[\u1100-\u115F\u2E80-\u303E\u3041-\u33FF\u3400-\u4DBF\u4E00-\u9FFF\uA000-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{1F000}-\u{1FAFF}\u{20000}-\u{3FFFD}]/u;
const ZERO_WIDTH = /\p{M}|[\u200C-\u200D]|[\uFE0E-\uFE0F]/u;

/** The width of a text in columns of a terminal. The text has no hidden characters. */
export function textWidth(text: string): number {
  let width = 0;
  for (const character of text) width += characterWidth(character);
  return width;
}

function characterWidth(character: string): 0 | 1 | 2 {
  return ZERO_WIDTH.test(character) ? 0 : WIDE.test(character) ? 2 : 1;
}

/** Truncates a line without hidden characters to at most `columns` of a terminal, with `…` for the omitted part. */
export function cutToWidth(line: string, columns: number): string {
  let used = 0;
  let kept = '';
  for (const character of line) {
    const width = characterWidth(character);
    if (used + width > columns - 1) return restFits(line.slice(kept.length), columns - used) ? line : `${kept}…`;
    used += width;
    kept += character;
  }
  return kept;
}

function restFits(rest: string, columns: number): boolean {
  return rest.length === 1 && !WIDE.test(rest) && columns >= 1;
}

/** The end of a line without hidden characters, at most `columns` of a terminal wide. */
export function endOfWidth(line: string, columns: number): string {
  const characters = Array.from(line);
  let used = 0;
  let from = characters.length;
  while (from > 0 && used + characterWidth(characters[from - 1]!) <= columns) {
    from -= 1;
    used += characterWidth(characters[from]!);
  }
  return characters.slice(from).join('');
}
