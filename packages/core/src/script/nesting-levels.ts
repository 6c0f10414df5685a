export type Opener = '(' | '[' | '{' | '${';

/** One open bracket, or the text outside all of them. */
export interface NestingLevel {
  readonly opener: Opener | undefined;
  /** The bracket belongs to `if (`, `for (`, `while (` …: a statement follows it. */
  readonly control: boolean;
  /** Braces that contain statements or members, not an object literal. */
  readonly block: boolean;
}

/** Counts open brackets, and in each of them the constructs that nest without a bracket. */
export class NestingLevels {
  readonly #outer: Count[] = [];
  #current: Count = count({ opener: undefined, control: false, block: true });
  #depth = 0;

  /** The sum over all levels. */
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

  /** The level that `closer` ends; undefined if there is none. */
  close(closer: string): NestingLevel | undefined {
    const { level, pending, angles } = this.#current;
    const outer = this.#outer.at(-1);
    if (outer === undefined || !fits(level.opener, closer)) return undefined;
    this.#depth -= pending + angles + 1;
    this.#outer.pop();
    this.#current = outer;
    return level;
  }

  /** Operators that nest to the right, until their statement or element ends. */
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

  /** True if a `?` was waiting for this `:`. */
  answerQuestion(): boolean {
    if (this.#current.questions === 0) return false;
    this.#current.questions--;
    return true;
  }

  /** Handles a comma. It may be between type arguments, so angle brackets stay open. */
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
  /** `<` without its `>`. */
  angles: number;
  /** `?` without its `:`. */
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
