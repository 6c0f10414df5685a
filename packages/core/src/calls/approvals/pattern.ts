/**
 * Whether the whole text matches the pattern, in which `*` stands for any text, including none, and every other
 * character for itself. Each part between two stars is searched once, so no pattern takes long.
 */
export function matchesPattern(pattern: string, text: string): boolean {
  const pieces = pattern.split('*');
  const first = pieces[0] as string;
  if (pieces.length === 1) return text === first;
  const last = pieces.at(-1) as string;
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false;
  const end = text.length - last.length;
  let position = first.length;
  for (const piece of pieces.slice(1, -1)) {
    const found = text.indexOf(piece, position);
    if (found === -1 || found + piece.length > end) return false;
    position = found + piece.length;
  }
  return true;
}
