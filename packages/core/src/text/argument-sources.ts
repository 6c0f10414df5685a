import { formatPath } from './value-path.js';

/**
 * Finds earlier results of a script in the arguments of a call. A match by content is no proof: a script may have
 * computed an equal text. A text that the script has changed is not found.
 *
 * The texts of both sides are divided in the same way: the whole text, its lines, its words. A text that both sides
 * contain is a match, unless the text is short or the script's source contains it too. The work is linear, and bounded
 * by the limits below.
 */

/** Minimum characters of a whole text, then of a line: shorter ones occur in unrelated data too. */
const MIN_TEXT = 6;
const MIN_LINE = 10;
/** Minimum characters of a word. The expression of `searchableWords` contains the same number. */
const MIN_WORD = 8;
/** Minimum significant digits of a number. */
const MIN_DIGITS = 4;

const MAX_ARGUMENT_CHARACTERS = 64_000;
const MAX_ARGUMENT_LEAVES = 500;
const MAX_RESULT_CHARACTERS = 256_000;
const MAX_RESULT_LEAVES = 10_000;
const MAX_SOURCES = 12;

/** A call of the same script that has already ended. Every `Operation` fits this type. */
export interface EarlierCall {
  readonly tool: string;
  readonly line?: number | undefined;
  /** Undefined if the call has no result, or its result is not known. */
  readonly result?: unknown;
}

/** One value of the arguments, and an earlier call whose result contains the value. */
export interface ArgumentSource {
  /** The path of the value, such as `changes[0].text`. */
  readonly path: string;
  readonly tool: string;
  /** The position of the call among the earlier calls, starting at 1. */
  readonly call: number;
  readonly line?: number | undefined;
  /** True: the whole value is in the result. False: only lines or words of the value are. */
  readonly isWhole: boolean;
}

export interface ArgumentSources {
  /** In the order of the values in the arguments. For one value, the call whose result contains most of it is first. */
  readonly sources: readonly ArgumentSource[];
  /** False: some arguments or results were too large to compare, or there are more sources than the list holds. */
  readonly isComplete: boolean;
}

/**
 * `source`: the script's own text. `earlier`: the script's calls before this one, in the order in which they were made.
 */
export function argumentSources(
  { input, source = '' }: { readonly input: unknown; readonly source?: string | undefined },
  earlier: readonly EarlierCall[],
): ArgumentSources {
  const budget = new Budget(MAX_ARGUMENT_CHARACTERS, MAX_ARGUMENT_LEAVES);
  const leaves = [...jsonLeaves(input, budget, false)].map((leaf) => new DividedText(leaf));
  const wanted = new Set<string>();
  for (const leaf of leaves) leaf.visit((piece) => wanted.add(piece));
  const results = new Budget(MAX_RESULT_CHARACTERS, MAX_RESULT_LEAVES);
  const found = firstCalls(wanted, earlier, results);
  const written = new DividedText({ place: undefined, text: source, isNumber: false });
  written.visit((piece) => found.delete(piece));
  const sources = leaves.flatMap((leaf) => textSources(leaf, found, source, earlier));
  return {
    sources: sources.slice(0, MAX_SOURCES),
    isComplete: budget.isEnough && results.isEnough && sources.length <= MAX_SOURCES,
  };
}

/** The number of characters and values that may still be read. */
class Budget {
  isEnough = true;
  #characters: number;
  #leaves: number;

  constructor(characters: number, leaves: number) {
    this.#characters = characters;
    this.#leaves = leaves;
  }

  /** Deducts one more text of this length. Returns false if the budget does not suffice. */
  take(length: number): boolean {
    this.#leaves -= 1;
    if (this.#leaves < 0 || length > this.#characters) this.isEnough = false;
    else this.#characters -= length;
    return this.isEnough;
  }
}

/** A member of a nested value, linked to the member that contains it. */
interface Place {
  readonly within: Place | undefined;
  readonly key: string | number;
}

interface Leaf {
  readonly place: Place | undefined;
  readonly text: string;
  readonly isNumber: boolean;
}

/**
 * The texts and numbers in JSON data, in order, until the budget is used up. `withKeys`: includes keys that are not
 * identifiers.
 */
function* jsonLeaves(root: unknown, budget: Budget, withKeys: boolean): Generator<Leaf> {
  const open: Iterator<{ place?: Place | undefined; value: unknown }>[] = [[{ value: root }].values()];
  while (open.length > 0) {
    const next = open.at(-1)!.next();
    if (next.done === true) {
      open.pop();
      continue;
    }
    const { place, value } = next.value;
    if (typeof value === 'object' && value !== null) {
      open.push(placedMembers(value, place, withKeys));
    } else {
      const text = typeof value === 'string' || typeof value === 'number' ? String(value) : '';
      if (!budget.take(text.length)) return;
      if (text !== '') yield { place, text, isNumber: typeof value === 'number' };
    }
  }
}

function* placedMembers(
  value: object,
  within: Place | undefined,
  withKeys: boolean,
): Generator<{ place: Place; value: unknown }> {
  if (Array.isArray(value)) {
    for (const [key, member] of value.entries()) yield { place: { within, key }, value: member };
    return;
  }
  for (const [key, member] of Object.entries(value)) {
    if (withKeys && /[^\w$]/u.test(key)) yield { place: { within, key }, value: key };
    yield { place: { within, key }, value: member };
  }
}

function placePath(place: Place | undefined): string {
  const path: (string | number)[] = [];
  for (let at = place; at !== undefined; at = at.within) path.unshift(at.key);
  return formatPath(path, '').replace(/^\./u, '');
}

/** A value that is divided into its whole text, its lines, and the words of each line. */
class DividedText {
  readonly place: Place | undefined;
  readonly whole: string | undefined;
  readonly lines: readonly { readonly line: string | undefined; readonly words: readonly string[] }[];

  constructor({ place, text, isNumber }: Leaf) {
    this.place = place;
    this.whole = wholeText(text, isNumber);
    this.lines = isNumber
      ? []
      : text.split('\n').map((line) => ({ line: searchableLine(line), words: searchableWords(line) }));
  }

  visit(each: (piece: string) => void): void {
    if (this.whole !== undefined) each(this.whole);
    for (const { line, words } of this.lines) {
      if (line !== undefined) each(line);
      for (const word of words) each(word);
    }
  }
}

/** Maps each text in `wanted` to the index of the first call whose result contains the text. */
function firstCalls(wanted: ReadonlySet<string>, earlier: readonly EarlierCall[], budget: Budget): Map<string, number> {
  const found = new Map<string, number>();
  if (wanted.size === 0) return found;
  for (const [index, { result }] of earlier.entries()) {
    for (const leaf of jsonLeaves(result, budget, true)) {
      new DividedText(leaf).visit((piece) => {
        if (wanted.has(piece) && !found.has(piece)) found.set(piece, index);
      });
    }
    if (!budget.isEnough) break;
  }
  return found;
}

/**
 * The call whose result contains the whole value; otherwise the calls whose results contain lines or words of the
 * value, sorted by the number of these characters, most first.
 */
function textSources(
  { place, whole, lines }: DividedText,
  found: ReadonlyMap<string, number>,
  source: string,
  earlier: readonly EarlierCall[],
): ArgumentSource[] {
  const callSourceAt = (index: number, isWhole: boolean): ArgumentSource => ({
    path: placePath(place),
    tool: earlier[index]!.tool,
    call: index + 1,
    isWhole,
    line: earlier[index]!.line,
  });
  const origin = whole === undefined || source.includes(whole) ? undefined : found.get(whole);
  if (origin !== undefined) return [callSourceAt(origin, true)];
  const lengths = new Map<number, number>();
  const add = (piece: string) => {
    const index = found.get(piece);
    if (index !== undefined) lengths.set(index, (lengths.get(index) ?? 0) + piece.length);
  };
  for (const { line, words } of lines) {
    if (line !== undefined && found.has(line)) add(line);
    else for (const word of words) add(word);
  }
  return [...lengths].toSorted(([, one], [, other]) => other - one).map(([index]) => callSourceAt(index, false));
}

function wholeText(text: string, isNumber: boolean): string | undefined {
  if (isNumber) return significantDigits(text) < MIN_DIGITS ? undefined : text;
  const trimmed = text.trim();
  return trimmed.length < MIN_TEXT ? undefined : trimmed;
}

function significantDigits(text: string): number {
  return text.replaceAll(/\D/gu, '').replaceAll(/^0+|(?<!0)0+$/gu, '').length;
}

/**
 * A line without the `+` or `-` of a patch, and without the line number that a tool has added; undefined if the line is
 * too short.
 */
function searchableLine(line: string): string | undefined {
  if (line.length < MIN_LINE) return undefined;
  const text = line.replace(/^(?:[-+]|L?\d+[:\t] ?)/u, '').trim();
  return text.length < MIN_LINE ? undefined : text;
}

function searchableWords(line: string): string[] {
  const words = line.match(/[^\s"'`,;(){}[\]<>=]{8,}/gu) ?? [];
  return words.map(withoutPunctuation).filter((word) => word.length >= MIN_WORD);
}

function withoutPunctuation(word: string): string {
  let end = word.length;
  while (end > 0 && '.:!?'.includes(word.charAt(end - 1))) end -= 1;
  return word.slice(0, end);
}
