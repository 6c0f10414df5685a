import type { SourceFacts } from '../source-facts.js';
import type { NativeDiagnostic } from './checker-process.js';

/** What becomes of a complaint of TypeScript's: the script is refused, the model is told, or nothing. */
export type Verdict = 'error' | 'warning' | 'off';

/**
 * Decides what a complaint means for a script that is about to run. Refused is only what certainly fails, or
 * calls a tool wrongly: refusing a good script is worse than missing a bad one. What is only about types, or
 * about undefined and null, is told or passed over.
 */
export class DiagnosticPolicy {
  readonly #facts: SourceFacts;
  readonly #assigned: ReadonlySet<string>;
  readonly #provided: ReadonlySet<string>;
  readonly #tested: ReadonlySet<string>;
  readonly #asked: ReadonlySet<string>;

  /** Variables that hold values of several types: TypeScript knows the first one only. */
  readonly #changing: ReadonlySet<string>;

  /** `diagnostics`: all of the script's, with their offsets in it. */
  constructor(facts: SourceFacts, diagnostics: readonly { code: number; offset: number }[]) {
    const mismatches = new Set(diagnostics.filter(({ code }) => WRONG_ARGUMENT.has(code)).map(({ offset }) => offset));
    this.#changing = new Set(facts.targets.filter(([at]) => mismatches.has(at)).map(([, name]) => name));
    this.#facts = facts;
    this.#assigned = new Set(facts.assigned);
    this.#provided = new Set(facts.provided);
    this.#tested = new Set(facts.tested);
    this.#asked = new Set(facts.asked);
  }

  /** `offset`: of the complaint, in the script. */
  verdict(diagnostic: NativeDiagnostic, offset: number): Verdict {
    const { code, text } = diagnostic;
    if (STYLE.has(code) || this.#isInType(offset)) return 'off';
    if (CERTAIN.has(code)) return this.#isTried(offset) ? 'warning' : 'error';
    if (ALWAYS_TRUE.has(code)) return this.toolAt(offset) === '' ? 'warning' : 'error';
    if (MISSING_NAME.has(code))
      return this.#asked.has(firstQuoted(text)) || this.#isTried(offset) ? 'warning' : 'error';
    if (this.#isOfChanging(offset)) return 'warning';
    if (MISSING_MEMBER.has(code)) return this.#missingMember(code, text);
    if (NOT_ITERABLE.has(code) || NOT_CALLABLE.has(code))
      return isCertainType(misusedType(diagnostic)) ? 'error' : 'warning';
    if (WRONG_ARGUMENT.has(code) && this.toolAt(offset) !== '') return this.#wrongArgument(diagnostic, offset);
    return 'warning';
  }

  /** The tool whose call, and no call inside of it, holds the offset; empty where there is none. */
  toolAt(offset: number): string {
    let tool = '';
    for (const [start, end, name] of this.#facts.calls) {
      if (start > offset) break;
      if (offset < end) tool = name;
    }
    return tool;
  }

  #isInType(offset: number): boolean {
    return this.#facts.types.some(([start, end]) => start <= offset && offset < end);
  }

  /** The script expects that it may fail there. A tool called wrongly is wrong all the same. */
  #isTried(offset: number): boolean {
    return this.#facts.tried.some(([start, end]) => start <= offset && offset < end);
  }

  #missingMember(code: number, text: string): Verdict {
    const [name, type] = quoted(text);
    if (name === undefined || type === undefined) return 'warning';
    if (type === 'Tools' || NAMESPACE_TYPE.test(type)) return 'error';
    if (this.#assigned.has(name) || this.#provided.has(name)) return 'warning';
    if (this.#tested.has(name) && !SUGGESTING.has(code)) return 'warning';
    return isCertainType(type) ? 'error' : 'warning';
  }

  #wrongArgument(diagnostic: NativeDiagnostic, offset: number): Verdict {
    const sentences = flattened(diagnostic);
    // What the script puts into a variable piece by piece is not known here.
    const missing = sentences.map((sentence) => /^Property '([^']+)' is missing/u.exec(sentence)?.[1]);
    if (missing.some((name) => name !== undefined && this.#assigned.has(name))) return 'warning';
    return isCertainMismatch(sentences) && !this.#holdsChanging(offset) ? 'error' : 'warning';
  }

  #isOfChanging(offset: number): boolean {
    return this.#facts.mentions.some(
      ([start, end, name]) => this.#changing.has(name) && start <= offset && offset < end,
    );
  }

  /** Whether the innermost call around the offset mentions such a variable. */
  #holdsChanging(offset: number): boolean {
    if (this.#changing.size === 0) return false;
    const around = this.#facts.calls.filter(([start, end]) => start <= offset && offset < end).at(-1);
    return (
      around !== undefined &&
      this.#facts.mentions.some(([at, , name]) => this.#changing.has(name) && around[0] <= at && at < around[1])
    );
  }
}

/** The sentences of a complaint, the outermost first. */
export function flattened(diagnostic: NativeDiagnostic): string[] {
  return [diagnostic.text, ...(diagnostic.messageChain ?? []).flatMap(flattened)];
}

/** Matters of style and of types that are not written down. */
const STYLE = new Set([
  2355, 2366, 2683, 2695, 6133, 6138, 6192, 6196, 6198, 7005, 7006, 7008, 7010, 7011, 7015, 7016, 7017, 7019, 7022,
  7023, 7024, 7025, 7026, 7027, 7028, 7029, 7030, 7031, 7034, 7036, 7041, 7043, 7044, 7045, 7046, 7053, 7056, 80007,
  18046,
]);
/** Fails whenever it is reached: await outside of an async function, a constant assigned, a name declared twice … */
const CERTAIN = new Set([1103, 1155, 1308, 2300, 2348, 2351, 2448, 2449, 2451, 2588, 2693]);
/** A promise as a condition. */
const ALWAYS_TRUE = new Set([2801]);
const MISSING_NAME = new Set([
  2304, 2552, 2580, 2581, 2582, 2583, 2584, 2585, 2591, 2592, 2593, 2662, 2663, 2686, 18004,
]);
const MISSING_MEMBER = new Set([2339, 2550, 2551]);
const SUGGESTING = new Set([2551]);
const NOT_ITERABLE = new Set([2461, 2488, 2495, 2504, 2548]);
const NOT_CALLABLE = new Set([2349, 6234]);
const WRONG_ARGUMENT = new Set([2322, 2345, 2353, 2554, 2555, 2559, 2561, 2739, 2740, 2741, 2769, 2820]);

/** A namespace of tools, as TypeScript prints it: members that are functions. */
const NAMESPACE_TYPE = /^\{ [\w$]+\(args/u;
/** Types of which TypeScript knows less than the script does. */
const UNCERTAIN_TYPE = /^(\{\}|never|object|Error|unknown|undefined|null|void|Object|globalThis)$/u;

function quoted(text: string): string[] {
  return [...text.matchAll(/'((?:[^']|'(?=[^\s.,)]))*)'/gu)].map(([, inner]) => inner as string);
}

function firstQuoted(text: string): string {
  return quoted(text)[0] ?? '';
}

function isCertainType(type: string): boolean {
  return !UNCERTAIN_TYPE.test(type) && !isUnion(type) && !isFunctionType(type);
}

/** A function may be given members at any time. */
function isFunctionType(type: string): boolean {
  return type.startsWith('typeof ') || /^(new )?[(<].*=> /su.test(type);
}

/** The type of what was called or iterated, from the innermost sentence that names one. */
function misusedType(diagnostic: NativeDiagnostic): string {
  const types = flattened(diagnostic).map(
    (sentence) => /^Type '(.+?)' (?:has no|must have|is not|can only)/su.exec(sentence)?.[1],
  );
  return types.findLast((type) => type !== undefined) ?? 'unknown';
}

/** The innermost mismatch says what really does not fit. */
function isCertainMismatch(sentences: readonly string[]): boolean {
  const mismatches = sentences.map(mismatch).filter((found) => found !== undefined);
  const innermost = mismatches.at(-1);
  if (innermost === undefined) return true;
  const [from, to] = innermost;
  if (/\b(undefined|null|never|unknown)\b/u.test(from) || isUnion(from)) return false;
  // A text that the script has put together may well be one of the choices.
  if (from === 'string' && /(^|\| )["`]/u.test(to)) return false;
  return !(from === 'number' && /(^|\| )-?\d/u.test(to));
}

function mismatch(sentence: string): readonly [from: string, to: string] | undefined {
  const found =
    /^(?:Type|Argument of type) '(.+)' is not assignable to (?:type|parameter of type) '(.+?)'(?:\.|$)/su.exec(
      sentence,
    );
  return found === null ? undefined : [found[1] as string, found[2] as string];
}

/** Whether a printed type is a union on its outermost level. */
function isUnion(type: string): boolean {
  let depth = 0;
  for (let index = 0; index < type.length; index++) {
    const character = type[index] as string;
    if (character === '"') index = type.indexOf('"', index + 1) < 0 ? type.length : type.indexOf('"', index + 1);
    else if ('({[<'.includes(character)) depth++;
    else if (')}]'.includes(character) || (character === '>' && type[index - 1] !== '=')) depth--;
    else if (character === '|' && depth === 0) return true;
  }
  return false;
}
