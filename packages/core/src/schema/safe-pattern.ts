/**
 * The decision whether an untrusted regular expression may run on the host, and how long the tested texts may be.
 * JavaScript's engine backtracks: nested repetition can take exponential time, and n repetitions in a row take a time
 * that grows with the n-th power of the text's length. So repetition of parts that repeat or have alternatives is
 * rejected, unless a text can match the repetition in only one way. For all other patterns, the text's length is
 * bounded so that the worst case stays small.
 */
type PatternVerdict =
  | {
      readonly safe: true;
      /** The maximum length of a text that may be tested. */
      readonly maxLength: number;
      /** Returns the maximum number of steps that the engine needs to test a text of this many characters. */
      readonly steps: (length: number) => number;
    }
  | { readonly safe: false; readonly reason: string };

interface PatternOptions {
  /** The flags of the regular expression. Default `u`. */
  readonly flags?: string | undefined;
  /** Maximum steps of one test in the worst case. Default 100 000, which take less than a millisecond. */
  readonly maxSteps?: number | undefined;
}

const MAX_PATTERN_LENGTH = 1_000;
const MAX_STEPS = 100_000;
const MIN_USEFUL_LENGTH = 16;
const MAX_GROUP_DEPTH = 20;

export function judgePattern(
  source: string,
  { flags = 'u', maxSteps = MAX_STEPS }: PatternOptions = {},
): PatternVerdict {
  // defence: pattern-length
  if (source.length > MAX_PATTERN_LENGTH) return unsafe(`it is longer than ${MAX_PATTERN_LENGTH} characters`);
  if (!isValid(source, flags)) return unsafe('it is not a valid regular expression');
  if (flags.includes('v')) return unsafe('it has the flag v');
  try {
    return boundLength(new PatternReader(source, flags).read(), maxSteps);
  } catch (error) {
    if (error instanceof UnsafePattern) return unsafe(error.message);
    throw error;
  }
}

function isValid(source: string, flags: string): boolean {
  try {
    return new RegExp(source, flags) instanceof RegExp;
  } catch {
    return false;
  }
}

function boundLength(shape: PatternShape, maxSteps: number): PatternVerdict {
  const power = shape.repetitions + (shape.anchored ? 0 : 1);
  const factor = shape.choices * shape.counted;
  const budget = maxSteps / factor;
  const steps = (length: number): number => factor * length ** power;
  if (power === 0)
    return budget >= 1 ? { safe: true, maxLength: maxSteps, steps } : unsafe('it tries too many alternatives');
  const maxLength = Math.floor(budget ** (1 / power));
  return maxLength >= MIN_USEFUL_LENGTH ? { safe: true, maxLength, steps } : unsafe('it may take too long');
}

function unsafe(reason: string): PatternVerdict {
  return { safe: false, reason };
}

class UnsafePattern extends Error {}

interface PatternShape {
  /** The number of repetitions whose count the engine may vary. */
  repetitions: number;
  /** Product of the alternatives and options that the engine may try. */
  choices: number;
  /** The largest product of nested counts: 12 for `(a{3}){4}`. */
  counted: number;
  /** True: matches can start only at the text's start. */
  anchored: boolean;
}

/** The properties of a quantified part. */
interface PartShape {
  repetitions: number;
  choices: number;
  counted: number;
  /** True: the next character decides every choice, because alternatives begin with different literal characters. */
  decided: boolean;
}

/** Reads a pattern that is known to be valid with its flags. */
class PatternReader {
  readonly #source: string;
  readonly #flags: string;
  #position = 0;
  #depth = 0;

  constructor(source: string, flags: string) {
    this.#source = source;
    this.#flags = flags;
  }

  read(): PatternShape {
    const { repetitions, choices, counted, branches } = this.#alternatives();
    const anchored = this.#source.startsWith('^') && !this.#flags.includes('m') && branches === 1;
    return { repetitions, choices, counted, anchored };
  }

  #alternatives(): PartShape & { readonly branches: number } {
    const branches: PartShape[] = [];
    const starts: (string | undefined)[] = [];
    do {
      starts.push(this.#literalStart());
      branches.push(this.#sequence());
    } while (this.#take('|'));
    const decided = starts.every((start) => start !== undefined) && new Set(starts).size === starts.length;
    return {
      branches: branches.length,
      repetitions: branches.reduce((sum, branch) => sum + branch.repetitions, 0),
      choices: branches.reduce((product, branch) => product * branch.choices, branches.length),
      counted: Math.max(...branches.map((branch) => branch.counted)),
      decided: branches.every((branch) => branch.decided) && (branches.length === 1 || decided),
    };
  }

  #literalStart(): string | undefined {
    const character = this.#source[this.#position];
    return character !== undefined && /[A-Za-z0-9_/:-]/.test(character) ? character : undefined;
  }

  #sequence(): PartShape {
    const whole: PartShape = { repetitions: 0, choices: 1, counted: 1, decided: true };
    while (this.#position < this.#source.length && !'|)'.includes(this.#source[this.#position] as string)) {
      const start = this.#position;
      const part = this.#quantifiedPart(this.#atom(), start);
      whole.repetitions += part.repetitions;
      whole.choices *= part.choices;
      whole.counted = Math.max(whole.counted, part.counted);
      whole.decided &&= part.decided;
    }
    return whole;
  }

  #atom(): PartShape {
    const character = this.#source[this.#position] as string;
    if (character === '(') return this.#group();
    if (character === '[') this.#skipClass();
    else if (character === '\\') this.#skipEscape();
    else this.#position += 1;
    return { repetitions: 0, choices: 1, counted: 1, decided: true };
  }

  #group(): PartShape {
    this.#depth += 1;
    // defence: pattern-depth
    if (this.#depth > MAX_GROUP_DEPTH) throw new UnsafePattern('its groups are nested too deeply');
    this.#position += 1;
    const opening = /^\?(?::|=|!|<=|<!|<[^>]*>)/.exec(this.#source.slice(this.#position));
    if (opening !== null) this.#position += opening[0].length;
    const inner = this.#alternatives();
    this.#position += 1;
    this.#depth -= 1;
    return inner;
  }

  #quantifiedPart(atom: PartShape, start: number): PartShape {
    const quantifier = readQuantifier(this.#source, this.#position);
    if (quantifier === undefined) return atom;
    const { min, max } = quantifier;
    const repeated = this.#source.slice(start, this.#position);
    this.#position += quantifier.length;
    if (max === 0) throw new UnsafePattern('it repeats something zero times');
    const counted = atom.counted * Math.max(1, Number.isFinite(max) ? max : min);
    const isAmbiguous = max > 1 && (atom.repetitions > 0 || !atom.decided);
    // A text can be split into the iterations of such a loop in only one way, so the loop counts as one repetition.
    if (isAmbiguous && isDecidedLoop(repeated, this.#flags))
      return { repetitions: 1, choices: atom.choices, counted, decided: false };
    // defence: no-nested-repetition
    if (isAmbiguous) throw new UnsafePattern('it repeats a part that itself repeats or has alternatives');
    if (min === max) return { ...atom, counted };
    if (max === 1) return { ...atom, choices: atom.choices * 2, decided: false };
    return { repetitions: atom.repetitions + 1, choices: atom.choices, counted, decided: atom.decided };
  }

  #skipClass(): void {
    this.#position += 1;
    while (this.#source[this.#position] !== ']') this.#position += this.#source[this.#position] === '\\' ? 2 : 1;
    this.#position += 1;
  }

  #skipEscape(): void {
    const next = this.#source[this.#position + 1] as string;
    // defence: no-back-references
    if (/[1-9k]/.test(next)) throw new UnsafePattern('it has a backreference');
    this.#position += 2;
    if (!this.#flags.includes('u')) return;
    const braced = /^\{[^}]*\}/.exec(this.#source.slice(this.#position));
    if (/[pPu]/.test(next) && braced !== null) this.#position += braced[0].length;
  }

  #take(character: string): boolean {
    if (this.#source[this.#position] !== character) return false;
    this.#position += 1;
    return true;
  }
}

/*
 * Nested repetition takes a backtracking engine exponential time only if a text can be split into iterations in several
 * ways. `(-[a-z]+)*` is harmless: an iteration begins only at a hyphen.
 */

interface Quantifier {
  readonly min: number;
  /** `Infinity` if there is no upper bound. */
  readonly max: number;
  /** Number of characters of the quantifier. */
  readonly length: number;
}

/** Returns the quantifier at this position of a pattern; undefined if there is none. */
function readQuantifier(source: string, position: number): Quantifier | undefined {
  const found = /^(?:([*+?])|\{(\d+)(,(\d*))?\})\??/.exec(source.slice(position, position + 64));
  if (found === null) return undefined;
  const [{ length }, symbol, from, comma, to] = found;
  if (symbol !== undefined)
    return { min: symbol === '+' ? 1 : 0, max: symbol === '?' ? 1 : Number.POSITIVE_INFINITY, length };
  const min = Number(from);
  if (comma === undefined) return { min, max: min, length };
  return { min, max: to === '' ? Number.POSITIVE_INFINITY : Number(to), length };
}

/** One character of an iteration, and the number of times that the character may occur there. */
interface LoopAtom {
  readonly source: string;
  readonly min: number;
  readonly max: number;
}

const GROUP = /^\((?:\?:|\?<[A-Za-z_$][\w$]*>|(?!\?))([^]*)\)$/;
/** Matches a class, an escape that denotes a character, or a literal character. */
const ATOM =
  /\[\^?(?:\\.|[^\]\\])*\]|\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[\dA-Fa-f]{4}|x[\dA-Fa-f]{2}|c[A-Za-z]|[^bB1-9kuxcpP])|[^\\()[\]|^$*+?{}]/suy;

/**
 * Whether a repeated group consists of single characters such that the next character of the text decides whether a
 * character is repeated or omitted. `source`: the group with its parentheses.
 */
function isDecidedLoop(source: string, flags: string): boolean {
  const body = GROUP.exec(source)?.[1];
  const atoms = body === undefined ? undefined : readAtoms(body);
  if (atoms === undefined || !atoms.some(({ min }) => min > 0)) return false;
  const sets = new Map(atoms.map((atom) => [atom.source, characterSet(atom.source, flags)]));
  return atoms.every(
    (atom, index) =>
      atom.min === atom.max ||
      followers(atoms, index).every((next) => areDisjoint(sets.get(atom.source)!, sets.get(next.source)!)),
  );
}

/** Returns the characters of an iteration; undefined if the iteration contains more than single characters. */
function readAtoms(body: string): LoopAtom[] | undefined {
  const atoms: LoopAtom[] = [];
  for (let position = 0; position < body.length;) {
    ATOM.lastIndex = position;
    const source = ATOM.exec(body)?.[0];
    if (source === undefined) return undefined;
    position += source.length;
    const { min, max, length } = readQuantifier(body, position) ?? { min: 1, max: 1, length: 0 };
    position += length;
    atoms.push({ source, min, max });
  }
  return atoms;
}

/**
 * Returns the characters that may follow a character of an iteration, in the same iteration or in the next: all
 * characters up to the first mandatory one.
 */
function followers(atoms: readonly LoopAtom[], index: number): LoopAtom[] {
  const found: LoopAtom[] = [];
  for (let step = 1; step <= atoms.length; step += 1) {
    const next = atoms[(index + step) % atoms.length]!;
    found.push(next);
    if (next.min > 0) break;
  }
  return found;
}

/** The code units that an atom matches, and whether it may match characters outside these units. */
interface CharacterSet {
  readonly units: Uint8Array;
  readonly hasOthers: boolean;
}

const UNITS = 0x1_0000;

function characterSet(source: string, flags: string): CharacterSet {
  const pattern = new RegExp(`^(?:${source})$`, flags.replace(/[gymd]/g, ''));
  const units = new Uint8Array(UNITS);
  for (let unit = 0; unit < UNITS; unit += 1) if (pattern.test(String.fromCharCode(unit))) units[unit] = 1;
  // An atom matches a character of two units only with the flag u.
  const hasOthers = flags.includes('u') && (/[^\0-\x7f]|^\.$|^\[\^|\\[pPDWSu]/.test(source) || flags.includes('i'));
  return { units, hasOthers };
}

function areDisjoint(one: CharacterSet, other: CharacterSet): boolean {
  if (one.hasOthers && other.hasOthers) return false;
  for (let unit = 0; unit < UNITS; unit += 1) if (one.units[unit] === 1 && other.units[unit] === 1) return false;
  return true;
}
