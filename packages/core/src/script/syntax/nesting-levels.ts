export type Opener = '(' | '[' | '{' | '${';

/** One open bracket, or the text outside of all brackets. */
interface NestingLevel {
  readonly opener: Opener | undefined;
  /** True if the bracket belongs to `if (`, `for (`, `while (` …: a statement follows the closing bracket. */
  readonly control: boolean;
  /** True for braces that contain statements or members of a class, and false for an object literal. */
  readonly block: boolean;
}

/** Counts open brackets, and in each of them the constructs that nest without a bracket. */
export class NestingLevels {
  readonly #outer: Count[] = [];
  #current: Count = count({ opener: undefined, control: false, block: true });
  #depth = 0;

  /** The depth of nesting, summed over all levels. */
  get depth(): number {
    return this.#depth;
  }

  get inBlock(): boolean {
    return this.#current.level.block;
  }

  open(level: NestingLevel): void {
    this.#outer.push(this.#current);
    this.#current = count(level);
    this.#depth++;
  }

  /** Closes and returns the level that `closer` ends; returns undefined if `closer` ends no level. */
  close(closer: string): NestingLevel | undefined {
    const { level, pending, angles } = this.#current;
    const outer = this.#outer.at(-1);
    if (outer === undefined || !fits(level.opener, closer)) return undefined;
    this.#depth -= pending + angles + 1;
    this.#outer.pop();
    this.#current = outer;
    return level;
  }

  /** Adds operators that nest to the right until their statement or element ends. */
  nest(times = 1): void {
    this.#current.pending += times;
    this.#depth += times;
  }

  openAngle(): void {
    this.#current.angles++;
    this.#depth++;
  }

  closeAngle(): void {
    if (this.#current.angles === 0) return;
    this.#current.angles--;
    this.#depth--;
  }

  askQuestion(): void {
    this.#current.questions++;
    this.nest();
  }

  /** Handles a `:`. Returns true if it belongs to an open `?`. */
  answerQuestion(): boolean {
    if (this.#current.questions === 0) return false;
    this.#current.questions--;
    return true;
  }

  /** Handles a comma. The comma may be between type arguments, so angle brackets stay open. */
  endElement(): void {
    this.#depth -= this.#current.pending;
    this.#current.pending = 0;
    this.#current.questions = 0;
  }

  endStatement(): void {
    this.endElement();
    this.#depth -= this.#current.angles;
    this.#current.angles = 0;
  }
}

interface Count {
  readonly level: NestingLevel;
  pending: number;
  /** Number of `<` without their `>`. */
  angles: number;
  /** Number of `?` without their `:`. */
  questions: number;
}

function count(level: NestingLevel): Count {
  return { level, pending: 0, angles: 0, questions: 0 };
}

function fits(opener: Opener | undefined, closer: string): boolean {
  if (closer === ')') return opener === '(';
  if (closer === ']') return opener === '[';
  return opener === '{' || opener === '${';
}

/** Each of these words before an operand adds one level of nesting. */
export const PREFIX_WORDS = new Set(['typeof', 'void', 'delete', 'await', 'new', 'yield']);

/** Words that add one level before an operand in types, and are names elsewhere. */
export const TYPE_WORDS = new Set(['keyof', 'unique', 'readonly', 'infer', 'asserts', 'extends', 'abstract']);

/** Words that may connect the operand after them to the code before them, and are names elsewhere. */
export const JOINING_WORDS = new Set(['as', 'is', 'satisfies', 'implements', 'async', 'of']);

export const OPERATOR_WORDS = new Set(['in', 'instanceof']);

/** After one of these words, a `(` opens the head of a statement. */
export const CONTROL_WORDS = new Set(['if', 'for', 'while', 'with', 'switch', 'catch']);

/** Words that begin statements and classes. These nest the code after them without a bracket. */
export const NESTING_STATEMENTS = new Set(['if', 'for', 'while', 'with', 'do', 'class']);

/** Each of these words ends the preceding construct. */
export const FRESH_STATEMENTS = new Set(
  'const var return throw switch try import export debugger break continue case default function'.split(' '),
);

/** Each of these words continues the statement before it. */
export const CONTINUING_WORDS = new Set(['else', 'catch', 'finally']);

/** Each of these words is an error where a name is required. */
export const RESERVED_WORDS = new Set([
  ...PREFIX_WORDS,
  ...OPERATOR_WORDS,
  ...NESTING_STATEMENTS,
  ...FRESH_STATEMENTS,
  ...CONTINUING_WORDS,
  ...'let static enum implements interface package private protected public super this'.split(' '),
]);
