import type { Hunk, HunkLine } from './operations.js';

/** Where a hunk applies: file lines `first` up to but not including `end` become the hunk's new lines. */
export interface Placement {
  readonly first: number;
  readonly end: number;
  /** The hunk's lines, without a trailing blank one that the file does not have. */
  readonly lines: readonly HunkLine[];
}

/**
 * How strictly a line must be the same, tried in this order over the whole rest of the file: exactly; without
 * trailing white space; without white space around it; with typographic punctuation and spaces made plain.
 */
const PASSES: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => text.trimEnd(),
  (text) => text.trim(),
  (text) => plainPunctuation(text.trim()),
];

/** Comparisons of lines that one file may cost, so that no patch can hold up the process. */
const MAX_COMPARISONS = 30_000_000;

/** Finds runs of lines in one file. */
export class LineSearch {
  /** True once the search gave up because it cost too much; everything is "not found" from then on. */
  exhausted = false;
  readonly #passes: (readonly string[] | undefined)[];
  #comparisons = 0;

  constructor(lines: readonly string[]) {
    this.#passes = [lines];
  }

  get length(): number {
    return this.#passes[0]!.length;
  }

  /** The first index from `from` on where the wanted lines lie; with `atEnd` only the very end counts. */
  seek(wanted: readonly string[], from: number, atEnd = false): number | undefined {
    const last = this.length - wanted.length;
    const start = atEnd ? Math.max(last, from) : from;
    for (const [number, pass] of PASSES.entries()) {
      const lines = (this.#passes[number] ??= this.#passes[0]!.map(pass));
      const found = this.#find(lines, wanted.map(pass), start, last);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Every index from `from` on where the wanted lines lie, all found by the first pass that finds any. */
  seekAll(wanted: readonly string[], from: number): number[] {
    const last = this.length - wanted.length;
    for (const [number, pass] of PASSES.entries()) {
      const lines = (this.#passes[number] ??= this.#passes[0]!.map(pass));
      const needles = wanted.map(pass);
      const places: number[] = [];
      let at = this.#find(lines, needles, from, last);
      for (; at !== undefined; at = this.#find(lines, needles, at + 1, last)) places.push(at);
      if (places.length > 0) return places;
    }
    return [];
  }

  /** Whether the wanted lines lie there exactly as they are. */
  isAt(wanted: readonly string[], index: number): boolean {
    const lines = this.#passes[0]!;
    return wanted.every((text, offset) => lines[index + offset] === text);
  }

  #find(lines: readonly string[], needles: readonly string[], start: number, last: number): number | undefined {
    for (let index = start; index <= last && !this.exhausted; index += 1) {
      let offset = 0;
      while (offset < needles.length && lines[index + offset] === needles[offset]) offset += 1;
      this.#comparisons += offset + 1;
      this.exhausted = this.#comparisons > MAX_COMPARISONS;
      if (offset === needles.length) return index;
    }
    return undefined;
  }
}

/** Places a hunk at or behind the line `cursor`. Undefined where its lines are not found. */
export function placeHunk(file: LineSearch, hunk: Hunk, cursor: number): Placement | undefined {
  if (isOnlyAdditions(hunk)) return { first: file.length, end: file.length, lines: hunk.lines };
  for (const lines of [hunk.lines, withoutTrailingBlank(hunk.lines)]) {
    if (lines === undefined) continue;
    const wanted = oldLines(lines);
    const first = file.seek(wanted, cursor, hunk.atEnd);
    if (first !== undefined) return { first, end: first + wanted.length, lines };
  }
  return undefined;
}

/** Such a hunk goes to the end of the file, whatever its contexts. */
export function isOnlyAdditions(hunk: Hunk): boolean {
  return hunk.lines.every(({ kind }) => kind === 'add');
}

export function oldLines(lines: readonly HunkLine[]): string[] {
  return lines.filter(({ kind }) => kind !== 'add').map(({ text }) => text);
}

export function newLines(lines: readonly HunkLine[]): string[] {
  return lines.filter(({ kind }) => kind !== 'remove').map(({ text }) => text);
}

/**
 * Models often end a hunk with a blank line that the file does not have. The hunk without it; undefined where
 * it does not end so, or where nothing would be left to find.
 */
export function withoutTrailingBlank(lines: readonly HunkLine[]): readonly HunkLine[] | undefined {
  const index = lines.findLastIndex(({ kind }) => kind !== 'add');
  const blank = lines[index];
  if (!blank || blank.text.trim() !== '') return undefined;
  const before = lines.slice(0, index);
  if (!before.some(({ kind }) => kind !== 'add')) return undefined;
  const after = lines.slice(index + 1);
  if (blank.kind === 'keep')
    return after.length === 0 ? before : [...before, { kind: 'add', text: blank.text }, ...after];
  const rest = [...before, ...after];
  const lastNew = rest.findLastIndex(({ kind }) => kind !== 'remove');
  const drops = rest[lastNew]?.kind === 'add' && rest[lastNew].text.trim() === '';
  return drops ? rest.filter((_, at) => at !== lastNew) : rest;
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
