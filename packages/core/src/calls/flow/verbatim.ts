/** Characters that may belong to a name, an address, a path or a URL: a value must not begin or end next to them. */
const WORD = /[\p{L}\p{N}_+/%~-]/u;
/** Characters that belong to a value only between two other characters of it: `a.b`, and not the end of a sentence. */
const INNER = /[.:@]/u;

/** Whether the text contains the value as a whole word or phrase: `eve@b.example` does not contain `b.example`. */
export function isVerbatim(text: string, value: string): boolean {
  if (value === '') return false;
  for (let at = text.indexOf(value); at !== -1; at = text.indexOf(value, at + 1)) {
    const end = at + value.length;
    if (!joins(text, at - 1, -1) && !joins(text, end, 1)) return true;
  }
  return false;
}

/** Whether the character continues a value in this direction. */
function joins(text: string, at: number, step: 1 | -1): boolean {
  const character = text.charAt(at);
  if (WORD.test(character)) return true;
  return INNER.test(character) && WORD.test(text.charAt(at + step));
}

/** Whether the source contains the value as a quoted text or as a number. */
export function isQuoted(source: string, value: string | number): boolean {
  if (typeof value === 'number') return isVerbatim(source, String(value));
  const escaped = JSON.stringify(value).slice(1, -1);
  return ["'", '"', '`'].some((quote) =>
    [value, escaped, value.replaceAll('\\', '\\\\').replaceAll(quote, `\\${quote}`)].some((text) =>
      source.includes(`${quote}${text}${quote}`),
    ),
  );
}
