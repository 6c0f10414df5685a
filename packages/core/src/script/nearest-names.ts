/**
 * Up to three of `names` that a writer of `wanted` may have meant, the likeliest first: by edit distance
 * (`readfile`), then by words in common (`listFiles` → `listDir`).
 */
export function nearestNames(wanted: string, names: readonly string[]): string[] {
  const words = wordsOf(wanted);
  const scored: { name: string; score: number }[] = [];
  for (const name of names) {
    const score = scoreOf(wanted, words, name);
    if (score > 0) scored.push({ name, score });
  }
  scored.sort((left, right) => right.score - left.score || (left.name < right.name ? -1 : 1));
  return scored.slice(0, 3).map(({ name }) => name);
}

function scoreOf(wanted: string, words: ReadonlySet<string>, name: string): number {
  const longest = Math.max(wanted.length, name.length);
  const distance = editDistance(wanted.toLowerCase(), name.toLowerCase(), Math.ceil(longest / 3));
  const closeness = distance === undefined ? 0 : 1 - distance / longest;
  let shared = 0;
  const others = wordsOf(name);
  for (const word of others) if (words.has(word)) shared++;
  const overlap = shared / Math.max(words.size, others.size, 1);
  return Math.max(closeness, overlap * 0.9);
}

function wordsOf(name: string): Set<string> {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/);
  return new Set(words.filter((word) => word !== '').map((word) => (word.length > 3 ? word.replace(/s$/, '') : word)));
}

/** Levenshtein distance; undefined where it is more than `most`. */
function editDistance(left: string, right: string, most: number): number | undefined {
  if (Math.abs(left.length - right.length) > most) return undefined;
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i++) {
    const next = [i];
    for (let j = 1; j <= right.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (left[i - 1] === right[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  const distance = row[right.length] ?? 0;
  return distance <= most ? distance : undefined;
}
