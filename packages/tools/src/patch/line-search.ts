import type { WorkSlices } from '../work-slices.js';

/**
 * Normalizations for comparing lines, tried in this order over the rest of the file: none; without trailing white
 * space; without surrounding white space; with plain punctuation and spaces. Each builds on the previous one.
 */
const PASSES: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => text.trimEnd(),
  (text) => text.trim(),
  (text) => plainPunctuation(text),
];

/** Maximum number of line comparisons for one file. This many comparisons take some seconds. */
const MAX_COMPARISONS = 300_000_000;
/** Maximum number of positions that are found for one run of lines. */
const MAX_PLACES = 1_000;
/** A number that matches no line of the file. */
const NOWHERE = -1;

/** The lines of a file after one normalization: equal lines have equal numbers. */
interface Pass {
  readonly numbers: Int32Array;
  readonly textNumbers: ReadonlyMap<string, number>;
}

/** Finds runs of lines in one file, in time proportional to the lengths of file and run. */
export class LineSearch {
  /** True after the search exceeded its maximum cost. Later searches find nothing. */
  exhausted = false;
  readonly length: number;
  readonly #slices: WorkSlices;
  readonly #passes: Pass[];
  #comparisons = 0;

  private constructor(first: Pass, slices: WorkSlices) {
    this.length = first.numbers.length;
    this.#passes = [first];
    this.#slices = slices;
  }

  static async of(
    lines: { readonly length: number; at(index: number): string },
    slices: WorkSlices,
  ): Promise<LineSearch> {
    const numbers = new Int32Array(lines.length);
    const textNumbers = new Map<string, number>();
    for (let index = 0; index < lines.length; index += 1) {
      const text = lines.at(index);
      if (slices.isDue(2 + text.length / 64)) await slices.pass();
      numbers[index] = numberFor(textNumbers, text);
    }
    return new LineSearch({ numbers, textNumbers: textNumbers }, slices);
  }

  /** The first index from `from` on at which the lines occur; with `atEnd` only at the very end. */
  async seek(wanted: readonly string[], from: number, atEnd = false): Promise<number | undefined> {
    const last = this.length - wanted.length;
    const start = atEnd ? Math.max(last, from) : from;
    const [first] = await this.#places(wanted, start, last, 1);
    return first;
  }

  /**
   * The indices from `from` on at which the lines occur, at most `MAX_PLACES`, all found with the same normalization.
   */
  seekAll(wanted: readonly string[], from: number): Promise<number[]> {
    return this.#places(wanted, from, this.length - wanted.length, MAX_PLACES);
  }

  /** Whether the lines occur at the index without normalization. */
  isAt(wanted: readonly string[], index: number): boolean {
    const { numbers, textNumbers } = this.#passes[0]!;
    if (index + wanted.length > this.length) return false;
    return wanted.every((text, offset) => textNumbers.get(text) === numbers[index + offset]);
  }

  async #places(wanted: readonly string[], start: number, last: number, enough: number): Promise<number[]> {
    if (start > last || start < 0) return [];
    if (wanted.length === 0) return [start];
    let needles = [...wanted];
    for (let number = 0; number < PASSES.length; number += 1) {
      if (this.#slices.isDue(needles.length)) await this.#slices.pass();
      needles = needles.map(PASSES[number]!);
      const places = await this.#find(await this.#pass(number), needles, start, last, enough);
      if (places.length > 0) return places;
    }
    return [];
  }

  /**
   * The lines of the file after the normalizations up to the one at index `number`. Each distinct line is normalized
   * once.
   */
  async #pass(number: number): Promise<Pass> {
    const known = this.#passes[number];
    if (known) return known;
    const before = await this.#pass(number - 1);
    const change = PASSES[number]!;
    const textNumbers = new Map<string, number>();
    const renumbered = new Int32Array(before.textNumbers.size);
    for (const [text, old] of before.textNumbers) {
      if (this.#slices.isDue(3 + text.length / 64)) await this.#slices.pass();
      renumbered[old] = numberFor(textNumbers, change(text));
    }
    const numbers = new Int32Array(this.length);
    for (let index = 0; index < this.length; index += 1) {
      if (this.#slices.isDue()) await this.#slices.pass();
      numbers[index] = renumbered[before.numbers[index]!]!;
    }
    const pass = { numbers, textNumbers };
    this.#passes[number] = pass;
    return pass;
  }

  /** The Knuth–Morris–Pratt algorithm. */
  async #find(
    { numbers, textNumbers }: Pass,
    texts: readonly string[],
    start: number,
    last: number,
    enough: number,
  ): Promise<number[]> {
    const wanted = Int32Array.from(texts, (text) => textNumbers.get(text) ?? NOWHERE);
    const found: number[] = [];
    if (wanted.includes(NOWHERE)) return found;
    const fallback = fallbacks(wanted);
    const end = last + wanted.length;
    let matched = 0;
    for (let at = start; at < end && !this.exhausted; at += 1) {
      if (this.#slices.isDue()) await this.#slices.pass();
      while (matched > 0 && numbers[at] !== wanted[matched]) matched = fallback[matched - 1]!;
      if (numbers[at] === wanted[matched]) matched += 1;
      this.#comparisons += 1;
      // defence: patch-comparisons
      this.exhausted = this.#comparisons > MAX_COMPARISONS;
      if (matched < wanted.length) continue;
      found.push(at - matched + 1);
      if (found.length >= enough) break;
      matched = fallback[matched - 1]!;
    }
    return found;
  }
}

/** For each prefix of the run: the length of its longest proper prefix that is also its suffix. */
function fallbacks(wanted: Int32Array): Int32Array {
  const lengths = new Int32Array(wanted.length);
  for (let at = 1, matched = 0; at < wanted.length; at += 1) {
    while (matched > 0 && wanted[at] !== wanted[matched]) matched = lengths[matched - 1]!;
    if (wanted[at] === wanted[matched]) matched += 1;
    lengths[at] = matched;
  }
  return lengths;
}

function numberFor(textNumbers: Map<string, number>, text: string): number {
  const known = textNumbers.get(text);
  if (known !== undefined) return known;
  textNumbers.set(text, textNumbers.size);
  return textNumbers.size - 1;
}

const PUNCTUATION: readonly (readonly [RegExp, string])[] = [
  [/[\u2010-\u2015\u2212]/g, '-'],
  [/[\u2018-\u201B]/g, "'"],
  [/[\u201C-\u201F]/g, '"'],
  [/[\u00A0\u2002-\u200A\u202F\u205F\u3000]/g, ' '],
];

function plainPunctuation(text: string): string {
  return PUNCTUATION.reduce((plain, [pattern, replacement]) => plain.replace(pattern, replacement), text);
}
