import type { CallFact, SourceFacts } from '../source-facts.js';
import type { CallIssue, JudgedCalls } from './call-issues.js';
import type { NativeDiagnostic } from './checker-process.js';

/** The consequence of a TypeScript diagnostic: it rejects the script, warns the model, or is dropped. */
export type Verdict = 'error' | 'warning' | 'off';

/**
 * Decides the consequence of a diagnostic for a script that is about to run. Only a certain failure or a wrong tool
 * call rejects the script: rejecting a good script is worse than missing a bad one. Diagnostics about types alone, or
 * about undefined and null, become warnings or are dropped, and so do diagnostics about values about which the script
 * may know more than TypeScript.
 */
export class DiagnosticPolicy {
  readonly #facts: SourceFacts;
  readonly #assigned: ReadonlySet<string>;
  readonly #provided: ReadonlySet<string>;
  readonly #tested: ReadonlySet<string>;
  readonly #asked: ReadonlySet<string>;
  readonly #taken: ReadonlyMap<number, string>;
  readonly #toolMembers: ReadonlySet<number>;
  readonly #afterAssigned: ReadonlySet<number>;
  readonly #ownTypes: ReadonlySet<string>;
  readonly #loose: ReadonlySet<string>;
  readonly #annotated: ReadonlySet<string>;
  readonly #choices: ReadonlyMap<string, string>;
  readonly #literals: ReadonlySet<number>;
  readonly #accepted: ReadonlySet<CallFact>;
  readonly #issues: readonly CallIssue[];
  readonly #neverEqual: ReadonlySet<number>;

  /**
   * `diagnostics`: all diagnostics of the script, with their offsets in the script. `choices`: named types that are
   * unions of literals.
   */
  constructor(
    facts: SourceFacts,
    diagnostics: readonly { code: number; offset: number; end: number }[],
    { accepted, issues }: JudgedCalls,
    choices: ReadonlyMap<string, string>,
  ) {
    this.#choices = choices;
    this.#literals = new Set(facts.literals);
    this.#facts = facts;
    this.#accepted = accepted;
    this.#issues = issues;
    this.#assigned = new Set(facts.assigned);
    this.#provided = new Set(facts.provided);
    this.#tested = new Set(facts.tested);
    this.#asked = new Set(facts.asked);
    this.#taken = new Map(facts.taken);
    this.#toolMembers = new Set(facts.toolMembers);
    this.#afterAssigned = new Set(facts.afterAssigned);
    this.#ownTypes = new Set(facts.ownTypes);
    this.#annotated = new Set(facts.annotated);
    this.#neverEqual = new Set(diagnostics.flatMap(({ code, offset }) => (NO_OVERLAP.has(code) ? [offset] : [])));
    // A list that receives an element of another type holds both types.
    const mixed = diagnostics.map(({ code, offset, end }) =>
      WRONG_ARGUMENT.has(code) ? this.callAt(offset, end)?.collects : '',
    );
    this.#loose = new Set([...facts.loose, ...mixed.filter((name) => name !== undefined && name !== '')] as string[]);
  }

  /** `offset` and `end`: the range of the diagnostic in the script. */
  verdict(diagnostic: NativeDiagnostic, offset: number, end: number): Verdict {
    const { code, text } = diagnostic;
    if (this.#isInType(offset) || this.#isAdded(offset, end)) return 'off';
    if (code === INDEXED) return this.#indexVerdict(diagnostic, offset);
    if (STYLE.has(code)) return 'off';
    if (CERTAIN.has(code)) return this.#isTried(offset) ? 'warning' : 'error';
    // Code in a function may run later, or never.
    if (TOO_EARLY.has(code)) return this.#isTried(offset) || this.#isInFunction(offset) ? 'warning' : 'error';
    if (ALWAYS_TRUE.has(code)) return this.#isToolCall(offset) ? 'error' : 'warning';
    if (MISSING_NAME.has(code))
      return this.#asked.has(firstQuoted(text)) || this.#isTried(offset) ? 'warning' : 'error';
    if (this.isAbsentNamespace(diagnostic, offset, end)) return this.#isTried(offset) ? 'warning' : 'error';
    if (MISSING_MEMBER.has(code)) return this.#missingMember(diagnostic, offset);
    if (MISUSED.has(code)) return this.#misused(diagnostic, offset);
    const call = this.callAt(offset, end);
    if (WRONG_ARGUMENT.has(code) && call !== undefined && call.tool !== '')
      return this.#wrongArgument(diagnostic, offset, call);
    if (WRONG_ARGUMENT.has(code) && call?.isParse === true) return this.#parsedVerdict(diagnostic, offset);
    if (NO_OVERLAP.has(code) && this.#isOneOfSeveral(offset)) return 'warning';
    if (NO_OVERLAP.has(code)) return this.#comparisonVerdict(diagnostic, offset, end);
    return 'warning';
  }

  /** Whether the diagnostic is about a tool, or a namespace of tools, that does not exist. */
  isMissingTool({ code }: NativeDiagnostic, offset: number): boolean {
    return MISSING_MEMBER.has(code) && this.#toolMembers.has(offset);
  }

  /** Whether the diagnostic is about a call of a namespace of tools as if it were a tool. */
  isCalledNamespace({ code }: NativeDiagnostic, offset: number): boolean {
    return code === NOT_CALLABLE && this.#toolMembers.has(offset);
  }

  /**
   * Whether the diagnostic is about `tools.mcp` or another namespace that is not exposed. Only these members of `tools`
   * may be undefined.
   */
  isAbsentNamespace({ code }: NativeDiagnostic, offset: number, end: number): boolean {
    if (!POSSIBLY_UNDEFINED.has(code)) return false;
    if (this.#facts.toolVariables.includes(offset)) return true;
    const isNamed = this.#facts.toolMembers.some((at) => offset < at && at < end);
    return isNamed && !this.#facts.calls.some((call) => offset <= call.start && call.end <= end);
  }

  /** The innermost call that contains the range. A range that is exactly a whole call belongs to the enclosing call. */
  callAt(offset: number, until = offset + 1): CallFact | undefined {
    return this.#facts.calls.findLast(
      ({ start, end }) => start <= offset && until <= end && !(start === offset && until === end),
    );
  }

  #isToolCall(offset: number): boolean {
    return this.#facts.calls.some(({ start, tool }) => start === offset && tool !== '');
  }

  #isInType(offset: number): boolean {
    return this.#facts.types.some(([start, end]) => start <= offset && offset < end);
  }

  #isAdded(offset: number, until: number): boolean {
    return this.#facts.added.some(([start, end]) => start <= offset && until <= end);
  }

  /** Whether the script catches a failure at the offset. A wrong tool call rejects the script even then. */
  #isTried(offset: number): boolean {
    return this.#facts.tried.some(([start, end]) => start <= offset && offset < end);
  }

  #missingMember(diagnostic: NativeDiagnostic, offset: number): Verdict {
    const [name, type] = quoted(diagnostic.text);
    if (name === undefined || type === undefined) return 'warning';
    // The type `never` means that the script has tested the tool, so the rest of the branch is never reached.
    if (this.isMissingTool(diagnostic, offset)) return type === 'never' ? 'off' : 'error';
    // A second sentence means that only some of the value's possible types lack the member.
    if (this.#assigned.has(name) || this.#provided.has(name) || flattened(diagnostic).length > 1) return 'warning';
    if (this.#facts.doubted.includes(this.#taken.get(offset) ?? '') || this.#afterAssigned.has(offset))
      return 'warning';
    if (type.startsWith('Promise<')) return 'error';
    // A nearly correct name is a spelling mistake, even if the script may know other facts about the value.
    if (SUGGESTING.has(diagnostic.code) && this.#isSlip(type, offset)) return 'error';
    const isUnknown = this.#tested.has(name) || this.#isOf(this.#loose, offset) || !this.#isCertainType(type);
    const isWritten = !isPlainType(type) && this.#isOf(this.#annotated, offset);
    return isUnknown || isWritten || this.#facts.ownShapes.includes(shapeOf(type)) ? 'warning' : 'error';
  }

  /**
   * The verdict about a name or number in brackets. A number, as in `user[0].name`, rejects the script if the object's
   * type is certain, because an object is not a list. With other names in brackets, scripts use objects as records.
   */
  #indexVerdict({ messageChain, text }: NativeDiagnostic, offset: number): Verdict {
    const [index = '', type = ''] = quoted(messageChain?.[0]?.text ?? '');
    if (!/^\d+$/u.test(index) || !quoted(text).includes(index)) return 'off';
    const isLoose = this.#facts.mentions.some(([start, , name]) => start === offset && this.#loose.has(name));
    const isKnown = type.startsWith('{') && this.#isCertainType(type) && !isLoose;
    return isKnown && !this.#facts.ownShapes.includes(shapeOf(type)) ? 'error' : 'off';
  }

  #isSlip(type: string, offset: number): boolean {
    if (UNCERTAIN_TYPE.test(type) || isUnion(type)) return false;
    return !PRIMITIVE.test(type) || !this.#isOf(this.#loose, offset);
  }

  #misused(diagnostic: NativeDiagnostic, offset: number): Verdict {
    const type = misusedType(diagnostic);
    if (type === 'never' && this.isCalledNamespace(diagnostic, offset)) return 'off';
    if (/^Not all constituents|^No constituent/u.test(diagnostic.messageChain?.[0]?.text ?? '')) return 'warning';
    return this.#isCertainType(type) && !this.#isOf(this.#loose, offset) ? 'error' : 'warning';
  }

  #wrongArgument(diagnostic: NativeDiagnostic, offset: number, call: CallFact): Verdict {
    if (this.#accepted.has(call) && !TOO_MANY.test(diagnostic.text)) return 'off';
    const verdict = this.#argumentVerdict(diagnostic, offset, call);
    const issues = this.#issues.filter((issue) => issue.call === call);
    // The tool's own message replaces warnings and a diagnostic at the same offset, because this message is shorter and
    // more precise.
    const isReported = issues.some((issue) => issue.offset === offset || verdict === 'warning');
    return isReported ? 'off' : verdict;
  }

  /**
   * The verdict about JSON.parse of an object. This call always throws, possibly after earlier effects of the script.
   */
  #parsedVerdict(diagnostic: NativeDiagnostic, offset: number): Verdict {
    const from = typesOf([diagnostic.text])[0]?.from ?? 'unknown';
    const isObject = /[}\]>]$/u.test(from) && this.#isCertainType(from) && !this.#isOf(this.#loose, offset);
    return isObject && !this.#isTried(offset) ? 'error' : 'warning';
  }

  /**
   * The verdict about a comparison whose result never changes, such as that of a number and a string, or of two
   * different strings.
   */
  #comparisonVerdict({ text }: NativeDiagnostic, offset: number, end: number): Verdict {
    const [left = [], right = []] = [...text.matchAll(/'(.+?)'(?= (?:and|have|is|to)\b|\.$)/gsu)].map(([, type]) =>
      alternativesOf(withChoices(type as string, this.#choices)),
    );
    const sides = [left, right].toSorted((one, other) => one.length - other.length) as [string[], string[]];
    const areTexts = sides.flat().every((type) => type.startsWith('"'));
    const isCertain = areTexts ? sides[0].length === 1 && sides[1].length > 1 : sides.flat().every(isSimple);
    const isLoose = this.#facts.mentions.some(
      ([start, , name]) => (this.#loose.has(name) || this.#annotated.has(name)) && offset <= start && start < end,
    );
    return isCertain && sides[0].length > 0 && !isLoose && !this.#isCoerced(offset) ? 'error' : 'warning';
  }

  /** Whether another case of the same `switch`, or its default, may match. */
  #isOneOfSeveral(offset: number): boolean {
    const found = this.#facts.switches.find(({ cases }) => cases.includes(offset));
    return found !== undefined && (found.hasDefault || !found.cases.every((at) => this.#neverEqual.has(at)));
  }

  /** Whether the comparison uses `==` or `!=`, which convert between types. */
  #isCoerced(offset: number): boolean {
    return this.#facts.coercions.some(([start, end]) => start <= offset && offset < end);
  }

  /**
   * The verdict about an argument. A value that does not fit rejects the script. A diagnostic is dropped if TypeScript
   * knows less than the script: to TypeScript, a list of strings that are all among the choices is a `string[]`.
   * Diagnostics about values that may be undefined, and about variables that the script changes, become warnings.
   */
  #argumentVerdict(diagnostic: NativeDiagnostic, offset: number, call: CallFact): Verdict {
    const sentences = flattened(diagnostic);
    if (sentences.some((sentence) => INHERITED_MEMBER.test(sentence))) return 'warning';
    const incomplete = sentences.map(incompleteType).find((type) => type !== undefined);
    if (incomplete !== undefined) return this.#incompleteVerdict(sentences, incomplete, offset, call);
    const mismatch = typesOf(sentences).at(-1);
    if (mismatch !== undefined && isLiteral(mismatch.from)) return 'error';
    if (mismatch !== undefined && this.#mayFit(mismatch)) return 'off';
    if (mismatch !== undefined && isPossiblyMissing(mismatch, sentences)) return 'warning';
    const isUnknown = !NOT_ABOUT_VALUES.has(diagnostic.code) && this.#holdsLoose(this.#valueAt(offset) ?? call);
    return isUnknown || this.#ownTypes.has(mismatch?.from ?? '') ? 'warning' : 'error';
  }

  #incompleteVerdict(sentences: readonly string[], type: string, offset: number, call: CallFact): Verdict {
    if (this.#literals.has(offset)) return 'error';
    // The script builds the value in steps, so its members are unknown to the check.
    if (sentences.flatMap(missingNames).some((name) => this.#assigned.has(name))) return 'off';
    if (call.isSpread || !this.#isWritten(type)) return 'warning';
    return this.#holdsLoose(this.#valueAt(offset) ?? call) ? 'warning' : 'error';
  }

  /** Whether a value of the wider type may fit nevertheless, for example because the value is one of the choices. */
  #mayFit({ from, to: printed }: Mismatch): boolean {
    const to = alternativesOf(withChoices(printed, this.#choices));
    const offers = (pattern: RegExp) => to.some((type) => pattern.test(type));
    if (from === 'string') return offers(/^["`]/u);
    if (from === 'number') return offers(/^-?\d/u);
    if (from === 'boolean') return offers(/^(true|false)$/u);
    // A member that may be omitted may also be null.
    if (from === 'null') return offers(/^undefined$/u);
    // JSON represents a Date and a URL as strings.
    if (from === 'Date' || from === 'URL') return offers(/^string$/u);
    return from.endsWith('[]') && offers(/^\[/u);
  }

  /** Whether the printed type is certain and has explicit members. */
  #isWritten(type: string): boolean {
    return this.#isCertainType(type) && !/^(Record<|Partial<|\{ \[)/u.test(type);
  }

  #isCertainType(type: string): boolean {
    const name = /^(?:Partial<|Readonly<|Pick<|Omit<)?([A-Za-z_$][\w$]*)/u.exec(type)?.[1] ?? '';
    if (this.#ownTypes.has(name)) return false;
    if (this.#facts.hasOpenClasses && /^[A-Za-z_$][\w$]*$/u.test(type) && !PRIMITIVE.test(type)) return false;
    return !UNCERTAIN_TYPE.test(type) && !isUnion(type) && !isFunctionType(type);
  }

  #isOf(variables: ReadonlySet<string>, offset: number): boolean {
    return this.#facts.mentions.some(([start, end, name]) => variables.has(name) && start <= offset && offset < end);
  }

  #isInFunction(offset: number): boolean {
    return this.#facts.functions.some(([start, end]) => start <= offset && offset < end);
  }

  /** The member of an object literal that begins at the offset. */
  #valueAt(offset: number): { start: number; end: number } | undefined {
    const found = this.#facts.properties.find(([start]) => start === offset);
    return found === undefined ? undefined : { start: found[0], end: found[1] };
  }

  #holdsLoose({ start, end }: { start: number; end: number }): boolean {
    return this.#facts.mentions.some(([at, , name]) => this.#loose.has(name) && start <= at && at < end);
  }
}

/** The sentences of a diagnostic, the outermost first. */
export function flattened(diagnostic: NativeDiagnostic): string[] {
  return [diagnostic.text, ...(diagnostic.messageChain ?? []).flatMap(flattened)];
}

/** Diagnostics about style, and about missing type annotations. */
const STYLE = new Set([
  1184, 1234, 2355, 2366, 2578, 2683, 2695, 6133, 6138, 6192, 6196, 6198, 7005, 7006, 7008, 7010, 7011, 7015, 7016,
  7017, 7019, 7022, 7023, 7024, 7025, 7026, 7027, 7028, 7029, 7030, 7031, 7034, 7036, 7041, 7043, 7044, 7045, 7046,
  7056, 80007, 18046,
]);
/**
 * Constructs that fail whenever they are reached: await outside of an async function, an assignment to a constant, a
 * type that is used as a value …
 */
const CERTAIN = new Set([1103, 1155, 1308, 2348, 2451, 2588, 2693, 6234]);
const TOO_EARLY = new Set([2448, 2449]);
/** A promise as a condition. */
const ALWAYS_TRUE = new Set([2801]);
const MISSING_NAME = new Set([
  2304, 2552, 2580, 2581, 2582, 2583, 2584, 2585, 2591, 2592, 2593, 2662, 2663, 2686, 18004,
]);
const MISSING_MEMBER = new Set([2339, 2550, 2551]);
/** A comparison or a `case` that can never match. */
const NO_OVERLAP = new Set([2367, 2678]);
const POSSIBLY_UNDEFINED = new Set([2532, 2533, 2722, 18048, 18049]);
const NOT_CALLABLE = 2349;
/** A name or number in brackets that is not a member of the type. */
const INDEXED = 7053;
const SUGGESTING = new Set([2551]);
/** Values that are iterated, called or constructed although their type does not allow it. */
const MISUSED = new Set([2349, 2351, 2461, 2488, 2495, 2504, 2548]);
const WRONG_ARGUMENT = new Set([2322, 2345, 2353, 2554, 2555, 2559, 2561, 2739, 2740, 2741, 2769, 2820]);
/** An unknown member, or a wrong number of arguments. */
const NOT_ABOUT_VALUES = new Set([2353, 2554, 2555, 2561]);

const TOO_MANY = /but got [1-9]/u;

const PRIMITIVE = /^(string|number|boolean|bigint|symbol)$/u;
/** Types about which TypeScript knows less than the script. */
const UNCERTAIN_TYPE =
  /^(\{\}|never|object|Error|Function|unknown|undefined|null|void|Object|globalThis|PromiseSettledResult<.*|.*__proto__.*)$/u;
/** Members that every object has, and that a schema may define with another type. */
const INHERITED_MEMBER =
  /^Types of property '(?:constructor|hasOwnProperty|isPrototypeOf|propertyIsEnumerable|toLocaleString|toString|valueOf)' are/u;

function quoted(text: string): string[] {
  return [...text.matchAll(/'((?:[^']|'(?=[^\s.,)]))*)'/gu)].map(([, inner]) => inner as string);
}

function firstQuoted(text: string): string {
  return quoted(text)[0] ?? '';
}

/** Whether values of the type have no explicit members. */
function isPlainType(type: string): boolean {
  return PRIMITIVE.test(type) || type.endsWith('[]');
}

function isSimple(type: string): boolean {
  return type === 'string' || type === 'number' || type === 'boolean';
}

function isLiteral(type: string): boolean {
  return /^(?:"[^"]*"|-?[\d.]+|true|false)$/u.test(type);
}

/** Names of a printed type's own members, sorted and joined. */
function shapeOf(type: string): string {
  const names: string[] = [];
  let depth = 0;
  for (const part of type.split(/(?<=[;{}()<>[\]])/u)) {
    const name = depth === 1 ? /^\s*["']?([\w$-]+)["']?\??:/u.exec(part)?.[1] : undefined;
    if (name !== undefined) names.push(name);
    if (/[{(<[]$/u.test(part)) depth++;
    else if (/[})>\]]$/u.test(part)) depth--;
  }
  return names.toSorted((left, right) => (left < right ? -1 : 1)).join();
}

/** Whether the type is that of a function. A function may receive members at any time. */
function isFunctionType(type: string): boolean {
  return type.startsWith('typeof ') || /^(new )?[(<].*=> /su.test(type);
}

/** The type of the value that was called or iterated, from the innermost sentence that names such a type. */
function misusedType(diagnostic: NativeDiagnostic): string {
  const types = flattened(diagnostic).map(
    (sentence) => /^Type '(.+?)' (?:has no|must have|is not|can only)/su.exec(sentence)?.[1],
  );
  return types.findLast((type) => type !== undefined) ?? 'unknown';
}

interface Mismatch {
  readonly from: string;
  readonly to: string;
}

/**
 * Whether the value may be undefined or null, or TypeScript does not know one of the two types (`never`, `unknown`).
 * The script may know that the value fits.
 */
function isPossiblyMissing({ from, to }: Mismatch, sentences: readonly string[]): boolean {
  if (to === 'never' || /\b(never|unknown)\b/u.test(from)) return true;
  if (!/\b(undefined|null)\b/u.test(from)) return false;
  return isUnion(from) || typesOf(sentences).some((outer) => isUnion(outer.from) && !outer.from.startsWith('{'));
}

/** The mismatching types, the outermost first. */
function typesOf(sentences: readonly string[]): Mismatch[] {
  return sentences.flatMap((sentence) => {
    const found =
      /^(?:Type|Argument of type) '(.+)' is not assignable to (?:type|parameter of type) '(.+?)'(?:\.|$)/su.exec(
        sentence,
      );
    return found === null ? [] : [{ from: found[1] as string, to: found[2] as string }];
  });
}

function missingNames(sentence: string): string[] {
  const one = /^Property '([^']+)' is missing/u.exec(sentence)?.[1];
  const list = / is missing the following properties from type .*: ([\w$, ]+)/su.exec(sentence)?.[1];
  return one === undefined ? (list ?? '').split(', ') : [one];
}

/** The type that lacks members according to a sentence. */
function incompleteType(sentence: string): string | undefined {
  const found =
    /^Property '.+?' is missing in type '(.+)' but required in type/su.exec(sentence) ??
    /^Type '(.+)' is missing the following properties from type/su.exec(sentence);
  return found?.[1];
}

/** A printed type with the choices instead of their names. */
export function withChoices(type: string, choices: ReadonlyMap<string, string>): string {
  return choices.size === 0 ? type : type.replace(/[A-Za-z_$][\w$]*/gu, (name) => choices.get(name) ?? name);
}

/** Whether a printed type is a union on its outermost level. */
function isUnion(type: string): boolean {
  return alternativesOf(type).length > 1;
}

/** The types of which a printed type is the union, on its outermost level. */
function alternativesOf(type: string): string[] {
  const alternatives: string[] = [];
  let depth = 0;
  let start = 0;
  for (let index = 0; index < type.length; index++) {
    const character = type[index] as string;
    if (character === '"') index = type.indexOf('"', index + 1) < 0 ? type.length : type.indexOf('"', index + 1);
    else if ('({[<'.includes(character)) depth++;
    else if (')}]'.includes(character) || (character === '>' && type[index - 1] !== '=')) depth--;
    else if (character === '|' && depth === 0) {
      alternatives.push(type.slice(start, index).trim());
      start = index + 1;
    }
  }
  return [...alternatives, type.slice(start).trim()];
}
