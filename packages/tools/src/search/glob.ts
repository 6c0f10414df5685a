import { failure } from '../failure.js';
import { quotePath } from '../files/path-rules.js';
import { WorkSlices } from '../work-slices.js';

/*
 * This module matches globs itself, because ripgrep's `--glob` overrides ignore files: a search in all of `packages`
 * would walk every node_modules below it. Matching time is proportional to pattern times path for every pattern.
 */

const MAX_ALTERNATIVES = 64;
/** A name that every glob library interprets in the same way. */
const PLAIN_NAME = /^(?!.*\*\*)[^{}[\]\\:]+$/;

/**
 * A compiled glob: `*` and `?` stay within a name, `**` crosses folders, and `[a-z]`, `[!a-z]` and `{a,b}` list
 * alternatives. Without a `/` it is matched against the name alone; a leading `/` anchors it at the searched folder.
 */
export interface Glob {
  readonly matches: (path: string) => boolean;
  /**
   * Simple globs without `/`. At least one of them fits the name of each matching file. Empty if no such globs exist.
   */
  readonly names: readonly string[];
  readonly patterns: readonly PathPattern[];
}

/** Maximum number of steps of all globs in one search, over all files. This many steps take some seconds. */
const MAX_STEPS = 300_000_000;
/** The fixed cost of a match. */
const STEPS_OF_A_MATCH = 10;

/** The budget for all globs of one search. */
export function globWork(signal: AbortSignal | undefined): WorkSlices {
  return new WorkSlices({
    signal,
    maxSteps: MAX_STEPS,
    tooMuch: 'The globs take too long for so many files. Use fewer or simpler globs, or search a smaller folder.',
  });
}

/** Whether a text is a glob. Brackets alone do not make a text a glob: `[id].tsx` is an ordinary name. */
export function isGlob(text: string): boolean {
  const groups = text.split('}').slice(0, -1);
  return (
    /[*?]/.test(text) || groups.some((group) => group.includes('{') && group.indexOf('{') < group.lastIndexOf(','))
  );
}

/** Compiles a glob. Throws a ToolCallError for an invalid glob. */
export function compileGlob(text: string): Glob {
  const alternatives = expandBraces(text);
  const patterns = alternatives.map((alternative) => parse(alternative, text));
  const lastNames = alternatives.map((alternative) => alternative.split('/').at(-1)!);
  return {
    matches: (path) => patterns.some((pattern) => matchesPath(pattern, path.split('/'), 'path', { steps: 0 })),
    names: lastNames.every((name) => PLAIN_NAME.test(name)) ? lastNames : [],
    patterns,
  };
}

/** Matches several globs against many paths. */
export class GlobSet {
  readonly #patterns: readonly PathPattern[];

  constructor(globs: readonly Glob[]) {
    this.#patterns = globs.flatMap(({ patterns }) => patterns);
  }

  get isEmpty(): boolean {
    return this.#patterns.length === 0;
  }

  /** Whether a glob fits the path; with 'folders', whether one fits the path or a parent folder. */
  async fit(path: string, scope: MatchScope, slices: WorkSlices): Promise<boolean> {
    if (this.isEmpty) return false;
    const names = path.split('/');
    const meter = { steps: 0 };
    for (const pattern of this.#patterns) {
      meter.steps = STEPS_OF_A_MATCH;
      if (matchesPath(pattern, names, scope, meter)) return true;
      if (slices.isDue(meter.steps)) await slices.pass();
    }
    return false;
  }
}

type MatchScope = 'path' | 'folders';

/** Counts the cost of matching. */
interface Meter {
  steps: number;
}

interface NameToken {
  readonly kind: 'text' | 'any' | 'one' | 'set';
  readonly value: string | RegExp;
}
interface NamePattern {
  readonly tokens: readonly NameToken[];
}
type PathPattern = readonly (NamePattern | '**')[];

function parse(alternative: string, whole: string): PathPattern {
  let text = alternative.replace(/^\.\//, '');
  if (text.endsWith('/')) text += '**';
  const tied = text.startsWith('/');
  const names = text.split('/').filter((name) => name !== '');
  if (names.length === 0) throw badGlob(whole);
  const pattern = names.map((name) => (name === '**' ? '**' : parseName(name, whole)));
  return names.length === 1 && !tied ? ['**', ...pattern] : pattern;
}

function parseName(name: string, whole: string): NamePattern {
  const tokens: NameToken[] = [];
  const characters = [...name];
  for (let index = 0; index < characters.length; index += 1) {
    const character = characters[index]!;
    if (character === '*') {
      if (tokens.at(-1)?.kind !== 'any') tokens.push({ kind: 'any', value: '' });
    } else if (character === '?') {
      tokens.push({ kind: 'one', value: '' });
    } else if (character === '[') {
      const end = characters.indexOf(']', index + 2);
      if (end === -1) throw badGlob(whole);
      tokens.push({ kind: 'set', value: characterSet(characters.slice(index + 1, end), whole) });
      index = end;
    } else if (character === '\\' && index + 1 < characters.length) {
      index += 1;
      tokens.push({ kind: 'text', value: characters[index]! });
    } else {
      tokens.push({ kind: 'text', value: character });
    }
  }
  return { tokens };
}

function characterSet(inside: readonly string[], whole: string): RegExp {
  const negated = inside[0] === '!' || inside[0] === '^';
  const body = inside
    .slice(negated ? 1 : 0)
    .join('')
    .replace(/[\\\]^]/g, '\\$&');
  try {
    return new RegExp(`^[${negated ? '^' : ''}${body}]$`, 'u');
  } catch {
    throw badGlob(whole);
  }
}

/** Whether the names of a path fit: `eaten` contains the numbers of names that the pattern so far can match. */
function matchesPath(pattern: PathPattern, names: readonly string[], scope: MatchScope, meter: Meter): boolean {
  const last = pattern.at(-1)!;
  if (scope === 'path' && last !== '**') {
    // The last name usually decides the result, so it is compared first.
    if (!matchesName(last, names.at(-1)!, meter)) return false;
    if (pattern.length === 2 && pattern[0] === '**') return true;
  }
  if (scope === 'folders' && pattern.length === 2 && pattern[0] === '**' && last !== '**')
    return names.some((name) => matchesName(last, name, meter));
  let eaten = [0];
  for (const [index, part] of pattern.entries()) {
    if (eaten.length === 0) return false;
    const isLast = index === pattern.length - 1;
    meter.steps += eaten.length;
    eaten =
      part === '**'
        ? range(eaten[0]! + (isLast ? 1 : 0), names.length - (isLast ? 0 : 1))
        : eaten
            .filter((count) => count < names.length && matchesName(part, names[count]!, meter))
            .map((count) => count + 1);
  }
  return scope === 'path' ? eaten.includes(names.length) : eaten.length > 0;
}

function range(first: number, last: number): number[] {
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index);
}

/** Greedy matching that backtracks only to the last `*`. */
function matchesName({ tokens }: NamePattern, name: string, meter: Meter): boolean {
  const characters = /[\uD800-\uDFFF]/.test(name) ? [...name] : name;
  let token = 0;
  let at = 0;
  let star = -1;
  let starAt = 0;
  while (at < characters.length) {
    meter.steps += 1;
    const wanted = tokens[token];
    if (wanted?.kind === 'any') {
      star = token;
      starAt = at;
      token += 1;
    } else if (wanted && fits(wanted, characters[at]!)) {
      token += 1;
      at += 1;
    } else if (star >= 0) {
      starAt += 1;
      at = starAt;
      token = star + 1;
    } else {
      return false;
    }
  }
  while (tokens[token]?.kind === 'any') token += 1;
  return token === tokens.length;
}

function fits({ kind, value }: NameToken, character: string): boolean {
  if (kind === 'one') return true;
  return kind === 'set' ? (value as RegExp).test(character) : value === character;
}

/** The alternatives of `{a,b}` as separate texts, including nested ones. */
function expandBraces(text: string): string[] {
  const done: string[] = [];
  const open = [text];
  while (open.length > 0) {
    const next = open.pop()!;
    const group = innermostGroup(next);
    if (!group) done.push(next);
    else for (const choice of group.choices) open.push(group.before + choice + group.after);
    // defence: glob-alternatives
    if (done.length + open.length > MAX_ALTERNATIVES) {
      throw failure(
        'bad_pattern',
        `The glob ${quotePath(text)} has more than ${MAX_ALTERNATIVES} alternatives. Use several globs.`,
      );
    }
  }
  return done.toReversed();
}

function innermostGroup(text: string): { before: string; choices: string[]; after: string } | undefined {
  const close = text.indexOf('}');
  const start = close === -1 ? -1 : text.lastIndexOf('{', close);
  if (start === -1) return undefined;
  return {
    before: text.slice(0, start),
    choices: text.slice(start + 1, close).split(','),
    after: text.slice(close + 1),
  };
}

function badGlob(text: string): Error {
  return failure(
    'bad_pattern',
    `The glob ${quotePath(text)} is not valid. Write a name or a pattern, and close each [ with ].`,
  );
}
