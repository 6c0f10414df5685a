/** The maximum length of a name that is compared. */
const MAX_NAME_LENGTH = 128;
const MIN_SPELLING_LIKENESS = 0.6;
const MIN_TOKEN_LIKENESS = 0.5;
const MIN_STEM = 3;
/**
 * The maximum number of characters of all compared candidates together, and the maximum number of steps to compare
 * their spelling.
 */
const MAX_CHARACTERS = 100_000;
const MAX_SPELLING_STEPS = 150_000;

/**
 * Returns the names most similar to `name`, best first: by spelling (`readFlie` → `readFile`) and by shared words
 * (`listFiles` → `listDir`, `read_file` → `readFile`). Dissimilar names are omitted. The work is bounded: if the names
 * are too many, only the first ones are compared.
 */
export function nearestNames(name: string, names: Iterable<string>, max = 3): string[] {
  if (name === '' || name.length > MAX_NAME_LENGTH) return [];
  const wanted = describeName(name);
  const scored: { name: string; score: number }[] = [];
  const budget = { characters: MAX_CHARACTERS, steps: MAX_SPELLING_STEPS };
  for (const candidate of new Set(names)) {
    if (candidate.length > MAX_NAME_LENGTH) continue;
    if ((budget.characters -= candidate.length) < 0) break;
    const score = likeness(wanted, describeName(candidate), budget);
    if (score > 0) scored.push({ name: candidate, score });
  }
  scored.sort((left, right) => right.score - left.score || compareText(left.name, right.name));
  return scored.slice(0, max).map((entry) => entry.name);
}

/** Returns ` Did you mean a or b?` with a leading space; empty if no name is similar. */
export function didYouMean(name: string, names: Iterable<string>): string {
  const nearest = nearestNames(name, names);
  if (nearest.length === 0) return '';
  const last = nearest.at(-1) as string;
  const list = nearest.length === 1 ? last : `${nearest.slice(0, -1).join(', ')} or ${last}`;
  return ` Did you mean ${list}?`;
}

/** Returns the words of a name in lower case. Splits camelCase, snake_case, kebab-case and dots. */
export function nameTokens(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((token) => token !== '');
}

interface DescribedName {
  letters: string;
  lastPart: string;
  tokens: ReadonlySet<string>;
}

function describeName(name: string): DescribedName {
  const lower = name.toLowerCase();
  return {
    letters: lower.replace(/[_\-.]/g, ''),
    lastPart: lower.slice(lower.lastIndexOf('.') + 1).replace(/[_-]/g, ''),
    tokens: new Set(nameTokens(name).map(singular)),
  };
}

function likeness(wanted: DescribedName, candidate: DescribedName, budget: { steps: number }): number {
  const spelling = Math.max(
    spellingLikeness(wanted.letters, candidate.letters, budget),
    spellingLikeness(wanted.lastPart, candidate.lastPart, budget) * 0.95,
  );
  const shared = [...wanted.tokens].filter((token) => hasWord(candidate.tokens, token)).length;
  const total = wanted.tokens.size + candidate.tokens.size;
  const words = total === 0 ? 0 : (2 * shared) / total;
  return Math.max(spelling >= MIN_SPELLING_LIKENESS ? spelling : 0, words >= MIN_TOKEN_LIKENESS ? words * 0.9 : 0);
}

/**
 * Whether the words contain this word, a prefix of it or a longer form: `exec` and `execute`, `dir` and `directory`.
 */
function hasWord(words: ReadonlySet<string>, word: string): boolean {
  if (words.has(word)) return true;
  if (word.length < MIN_STEM) return false;
  for (const other of words)
    if (other.length >= MIN_STEM && (other.startsWith(word) || word.startsWith(other))) return true;
  return false;
}

function spellingLikeness(left: string, right: string, budget: { steps: number }): number {
  const longest = Math.max(left.length, right.length);
  if (longest === 0) return 0;
  if (Math.abs(left.length - right.length) / longest > 1 - MIN_SPELLING_LIKENESS) return 0;
  const [from, to] = differingParts(left, right);
  budget.steps -= from.length * to.length;
  // defence: name-comparison-is-bounded
  return budget.steps < 0 ? 0 : 1 - editDistance(from, to) / longest;
}

/** Returns both texts without their common beginning and end. The common parts do not change the edit distance. */
function differingParts(left: string, right: string): [string, string] {
  const shorter = Math.min(left.length, right.length);
  let start = 0;
  while (start < shorter && left[start] === right[start]) start++;
  let end = 0;
  while (end < shorter - start && left[left.length - 1 - end] === right[right.length - 1 - end]) end++;
  return [left.slice(start, left.length - end), right.slice(start, right.length - end)];
}

/**
 * Returns the smallest number of insertions, deletions, replacements and swaps of neighbours that turn one text into
 * the other (optimal string alignment).
 */
export function editDistance(left: string, right: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let row = 1; row <= left.length; row++) {
    const current = [row];
    for (let column = 1; column <= right.length; column++) {
      const same = left[row - 1] === right[column - 1];
      let best = Math.min(
        (last[column] as number) + 1,
        (current[column - 1] as number) + 1,
        (last[column - 1] as number) + (same ? 0 : 1),
      );
      const swapped =
        row > 1 && column > 1 && left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      if (swapped) best = Math.min(best, (beforeLast[column - 2] as number) + 1);
      current.push(best);
    }
    beforeLast = last;
    last = current;
  }
  return last[right.length] as number;
}

function singular(token: string): string {
  return token.length > 3 && token.endsWith('s') && !token.endsWith('ss') ? token.slice(0, -1) : token;
}

function compareText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
