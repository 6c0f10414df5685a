/** A text without these first characters of another cannot include it. The built-in search of them is fast enough. */
const HEAD = 32;

/**
 * Whether a text includes another, in linear time for every text: `String.prototype.includes` takes seconds for texts
 * that repeat themselves. The algorithm is that of Knuth, Morris and Pratt (1977).
 */
export function includesText(text: string, searched: string): boolean {
  if (!text.includes(searched.slice(0, HEAD))) return false;
  const borders = textBorders(searched);
  let matched = 0;
  for (let at = 0; at < text.length && matched < searched.length; at += 1) {
    const code = text.charCodeAt(at);
    while (matched > 0 && searched.charCodeAt(matched) !== code) matched = borders[matched - 1]!;
    if (searched.charCodeAt(matched) === code) matched += 1;
  }
  return matched === searched.length;
}

/** For each beginning of the text, the length of its longest proper beginning that is also its end. */
function textBorders(text: string): Int32Array {
  const borders = new Int32Array(text.length);
  let length = 0;
  for (let at = 1; at < text.length; at += 1) {
    while (length > 0 && text[at] !== text[length]) length = borders[length - 1]!;
    if (text[at] === text[length]) length += 1;
    borders[at] = length;
  }
  return borders;
}
