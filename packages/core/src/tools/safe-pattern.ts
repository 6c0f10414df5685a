/**
 * Decides whether a regular expression from outside may run on the host, and on how long a text.
 *
 * JavaScript's engine backtracks: nested repetition takes exponential time, and n repetitions in a row
 * take a time that grows with the n-th power of the text. So repetition of what can repeat or choose by
 * itself is refused, and for the rest the text's length is bounded such that the worst case stays small.
 */
export type PatternVerdict =
  | { readonly safe: true; /** Longer texts must not be tested. */ readonly maxLength: number }
  | { readonly safe: false; readonly reason: string };

const MAX_PATTERN_LENGTH = 1_000;
/** Steps that one test may take in the worst case: below a millisecond. */
const MAX_STEPS = 100_000;
const LEAST_USEFUL_LENGTH = 16;
const MAX_GROUP_DEPTH = 20;

export function judgePattern(source: string): PatternVerdict {
  // defence: pattern-length
  if (source.length > MAX_PATTERN_LENGTH) return unsafe(`it is longer than ${MAX_PATTERN_LENGTH} characters`);
  if (!isValid(source)) return unsafe('it is not a valid regular expression');
  try {
    const shape = new PatternReader(source).read();
    return boundLength(shape);
  } catch (error) {
    if (error instanceof UnsafePattern) return unsafe(error.message);
    throw error;
  }
}

function isValid(source: string): boolean {
  try {
    return new RegExp(source, 'u') instanceof RegExp;
  } catch {
    return false;
  }
}

function boundLength(shape: PatternShape): PatternVerdict {
  const power = shape.repetitions + (shape.anchored ? 0 : 1);
  const budget = MAX_STEPS / (shape.choices * shape.counted);
  if (power === 0) return budget >= 1 ? { safe: true, maxLength: MAX_STEPS } : unsafe('it tries too many alternatives');
  const maxLength = Math.floor(budget ** (1 / power));
  return maxLength >= LEAST_USEFUL_LENGTH ? { safe: true, maxLength } : unsafe('it may take too long');
}

function unsafe(reason: string): PatternVerdict {
  return { safe: false, reason };
}

class UnsafePattern extends Error {}

interface PatternShape {
  /** Repetitions whose count the engine may vary. */
  repetitions: number;
  /** Product of the alternatives and options that the engine may try. */
  choices: number;
  /** The largest product of nested counts: 12 for `(a{3}){4}`. */
  counted: number;
  /** Starts at the text's start only. */
  anchored: boolean;
}

/** What a quantified part holds. */
interface PartShape {
  repetitions: number;
  choices: number;
  counted: number;
  /** Wherever there is a choice, the next character decides it: alternatives begin with different literal ones. */
  decided: boolean;
}

/** Reads a pattern that is known to be valid with the `u` flag. */
class PatternReader {
  readonly #source: string;
  #position = 0;
  #depth = 0;

  constructor(source: string) {
    this.#source = source;
  }

  read(): PatternShape {
    const anchored = this.#source.startsWith('^');
    const part = this.#alternatives();
    return {
      repetitions: part.repetitions,
      choices: part.choices,
      counted: part.counted,
      anchored: anchored && !hasTopLevelAlternative(this.#source),
    };
  }

  #alternatives(): PartShape {
    const branches: PartShape[] = [];
    const starts: (string | undefined)[] = [];
    do {
      starts.push(this.#literalStart());
      branches.push(this.#sequence());
    } while (this.#take('|'));
    const decided = starts.every((start) => start !== undefined) && new Set(starts).size === starts.length;
    return {
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
      const part = this.#quantified(this.#atom());
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

  #quantified(atom: PartShape): PartShape {
    const quantifier = /^(?:[*+?]|\{(\d+)(,(\d*))?\})\??/.exec(this.#source.slice(this.#position));
    if (quantifier === null) return atom;
    this.#position += quantifier[0].length;
    const { least, most } = quantifierRange(quantifier);
    if (most === 0) throw new UnsafePattern('it repeats something zero times');
    // defence: no-nested-repetition
    if (most > 1 && (atom.repetitions > 0 || !atom.decided)) {
      throw new UnsafePattern('it repeats what can repeat or choose by itself');
    }
    const counted = atom.counted * Math.max(1, Number.isFinite(most) ? most : least);
    if (least === most) return { ...atom, counted };
    if (most === 1) return { ...atom, choices: atom.choices * 2, decided: false };
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
    if (/[1-9k]/.test(next)) throw new UnsafePattern('it refers back to what it matched');
    this.#position += 2;
    const braced = /^\{[^}]*\}/.exec(this.#source.slice(this.#position));
    if (/[pPu]/.test(next) && braced !== null) this.#position += braced[0].length;
  }

  #take(character: string): boolean {
    if (this.#source[this.#position] !== character) return false;
    this.#position += 1;
    return true;
  }
}

function quantifierRange(quantifier: RegExpExecArray): { least: number; most: number } {
  const kind = (quantifier[0] as string)[0];
  if (kind === '*') return { least: 0, most: Infinity };
  if (kind === '+') return { least: 1, most: Infinity };
  if (kind === '?') return { least: 0, most: 1 };
  const least = Number(quantifier[1]);
  if (quantifier[2] === undefined) return { least, most: least };
  return { least, most: quantifier[3] === '' ? Infinity : Number(quantifier[3]) };
}

function hasTopLevelAlternative(source: string): boolean {
  let depth = 0;
  let inClass = false;
  for (let index = 0; index < source.length; index++) {
    const character = source[index];
    if (character === '\\') index += 1;
    else if (inClass) inClass = character !== ']';
    else if (character === '[') inClass = true;
    else if (character === '(') depth += 1;
    else if (character === ')') depth -= 1;
    else if (character === '|' && depth === 0) return true;
  }
  return false;
}
