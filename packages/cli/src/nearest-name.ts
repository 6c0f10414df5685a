const MIN_LIKENESS = 0.5;

/** Returns ` Did you mean NAME?` with a leading space; empty if no name is similar. */
export function didYouMean(name: string, names: Iterable<string>): string {
  const nearest = nearestName(name, names);
  return nearest === undefined ? '' : ` Did you mean ${nearest}?`;
}

/** The name with the most similar spelling, ignoring case; undefined if no name is similar. */
export function nearestName(name: string, names: Iterable<string>): string | undefined {
  let best: string | undefined;
  let bestLikeness = MIN_LIKENESS;
  for (const candidate of names) {
    const found = likeness(name.toLowerCase(), candidate.toLowerCase());
    if (found > bestLikeness) [best, bestLikeness] = [candidate, found];
  }
  return best;
}

function likeness(left: string, right: string): number {
  const longest = Math.max(left.length, right.length);
  if (longest === 0 || longest > 128) return 0;
  const isPart = Math.min(left.length, right.length) >= 4 && (left.includes(right) || right.includes(left));
  return Math.max(1 - editDistance(left, right) / longest, isPart ? 0.6 : 0);
}

/** The number of missing, additional and wrong letters, and of swaps of two neighbouring letters. */
function editDistance(left: string, right: string): number {
  let before: number[] = [];
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let at = 1; at <= left.length; at++) {
    const next = [at];
    for (let column = 1; column <= right.length; column++) {
      const replaced = (row[column - 1] as number) + (left[at - 1] === right[column - 1] ? 0 : 1);
      const isSwapped = left[at - 1] === right[column - 2] && left[at - 2] === right[column - 1];
      const swapped = isSwapped && at > 1 ? (before[column - 2] as number) + 1 : Infinity;
      next.push(Math.min((row[column] as number) + 1, (next[column - 1] as number) + 1, replaced, swapped));
    }
    before = row;
    row = next;
  }
  return row[right.length] as number;
}
