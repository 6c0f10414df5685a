import type { CallFact, SourceFacts } from '../analyse/source-facts.js';
import type { JudgedCalls } from './call-issues.js';
import type { NativeDiagnostic } from './checker-process.js';
import {
  unionTypes,
  firstQuotedText,
  diagnosticSentences,
  incompleteType,
  isFunctionType,
  isLiteral,
  isPlainType,
  isPossiblyMissing,
  isSimple,
  isUnion,
  type Mismatch,
  missingNames,
  misusedType,
  PRIMITIVE,
  quotedTexts,
  printedTypeShape,
  mismatchedTypes,
  withChoices,
} from './diagnostic-text.js';

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
  readonly #uncertainVariables: ReadonlySet<string>;
  readonly #choices: ReadonlyMap<string, string>;
  readonly #judgedCalls: JudgedCalls;
  readonly #neverEqual: ReadonlySet<number>;

  /**
   * `diagnostics`: all diagnostics of the script, with their offsets in the script. `choices`: named types that are
   * unions of literals.
   */
  constructor(
    facts: SourceFacts,
    diagnostics: readonly { code: number; offset: number; end: number }[],
    judgedCalls: JudgedCalls,
    choices: ReadonlyMap<string, string>,
  ) {
    this.#facts = facts;
    this.#judgedCalls = judgedCalls;
    this.#choices = choices;
    this.#neverEqual = new Set(diagnostics.flatMap(({ code, offset }) => (NO_OVERLAP.has(code) ? [offset] : [])));
    // A list that receives an element of another type holds both types.
    const mixed = diagnostics.map(({ code, offset, end }) =>
      WRONG_ARGUMENT.has(code) ? (this.callAt(offset, end)?.collector ?? '') : '',
    );
    this.#uncertainVariables = new Set([...facts.uncertainVariables, ...mixed.filter((name) => name !== '')]);
  }

  /** `offset` and `end`: the range of the diagnostic in the script. */
  verdict(diagnostic: NativeDiagnostic, offset: number, end: number): Verdict {
    const { code, text } = diagnostic;
    if (this.#isInType(offset)) return 'off';
    // The name of a parameter may be inserted; its argument is the model's.
    if (this.#isInserted(offset, end) && !WRONG_ARGUMENT.has(code)) return 'off';
    if (code === INDEXED) return this.#indexVerdict(diagnostic, offset);
    if (STYLE.has(code)) return 'off';
    if (CERTAIN.has(code)) return this.#isInTryBlock(offset) ? 'warning' : 'error';
    // Code in a function may run later, or never.
    if (TOO_EARLY.has(code)) return this.#isInTryBlock(offset) || this.#isInFunction(offset) ? 'warning' : 'error';
    if (ALWAYS_TRUE.has(code)) return this.#isToolCall(offset) ? 'error' : 'warning';
    if (MISSING_NAME.has(code))
      return this.#facts.probedNames.has(firstQuotedText(text)) || this.#isInTryBlock(offset) ? 'warning' : 'error';
    if (this.isAbsentNamespace(diagnostic, offset, end)) return this.#isInTryBlock(offset) ? 'warning' : 'error';
    if (MISSING_MEMBER.has(code)) return this.#missingMember(diagnostic, offset);
    if (MISUSED.has(code)) return this.#misuseVerdict(diagnostic, offset);
    if (this.#isTextInSum(diagnostic, offset)) return 'error';
    const call = this.callAt(offset, end);
    if (WRONG_ARGUMENT.has(code) && call !== undefined && call.tool !== '')
      return this.#wrongArgument(diagnostic, offset, call);
    if (WRONG_ARGUMENT.has(code) && call?.isParse === true) return this.#parsedVerdict(diagnostic, offset);
    if (WRONG_ARGUMENT.has(code) && call?.isCatalog === true) return this.#argumentVerdict(diagnostic, offset, call);
    if (NO_OVERLAP.has(code) && this.#isOneOfSeveral(offset)) return 'warning';
    if (NO_OVERLAP.has(code)) return this.#comparisonVerdict(diagnostic, offset, end);
    return 'warning';
  }

  /** Whether the diagnostic is about a tool, or a namespace of tools, that does not exist. */
  isMissingTool({ code }: NativeDiagnostic, offset: number): boolean {
    return MISSING_MEMBER.has(code) && this.#facts.toolMemberOffsets.has(offset);
  }

  /** Whether the diagnostic is about a call of a namespace of tools as if it were a tool. */
  isCalledNamespace({ code }: NativeDiagnostic, offset: number): boolean {
    return code === NOT_CALLABLE && this.#facts.toolMemberOffsets.has(offset);
  }

  /**
   * Whether the diagnostic is about `tools.mcp` or another namespace that is not exposed. Only these members of `tools`
   * may be undefined.
   */
  isAbsentNamespace({ code }: NativeDiagnostic, offset: number, end: number): boolean {
    if (!POSSIBLY_UNDEFINED.has(code)) return false;
    if (this.#facts.toolVariableOffsets.has(offset)) return true;
    const isNamed = [...this.#facts.toolMemberOffsets].some((at) => offset < at && at < end);
    return isNamed && !this.#facts.calls.some((call) => offset <= call.start && call.end <= end);
  }

  /** The innermost call that contains the range. A range that is exactly a whole call belongs to the enclosing call. */
  callAt(offset: number, until = offset + 1): CallFact | undefined {
    return this.#facts.calls.findLast(
      ({ start, end }) => start <= offset && until <= end && !(start === offset && until === end),
    );
  }

  #isJsonText(offset: number): boolean {
    return this.#facts.calls.some(({ start, isStringify }) => start === offset && isStringify);
  }

  #isToolCall(offset: number): boolean {
    return this.#facts.calls.some(({ start, tool }) => start === offset && tool !== '');
  }

  #isInType(offset: number): boolean {
    return this.#facts.typeRanges.some(([start, end]) => start <= offset && offset < end);
  }

  #isInserted(offset: number, until: number): boolean {
    return this.#facts.insertedRanges.some(([start, end]) => start <= offset && until <= end);
  }

  /** Whether the script catches a failure at the offset. Wrong arguments of a tool reject the script even then. */
  #isInTryBlock(offset: number): boolean {
    return this.#facts.tryBlocks.some(([start, end]) => start <= offset && offset < end);
  }

  #missingMember(diagnostic: NativeDiagnostic, offset: number): Verdict {
    const [name, type] = quotedTexts(diagnostic.text);
    if (name === undefined || type === undefined) return 'warning';
    // The type `never` means that the script has tested the tool, so the rest of the branch is never reached.
    if (this.isMissingTool(diagnostic, offset)) {
      if (type === 'never') return 'off';
      return this.#isInTryBlock(offset) ? 'warning' : 'error';
    }
    // A second sentence means that only some of the value's possible types lack the member.
    if (
      this.#facts.assignedMembers.has(name) ||
      this.#facts.guardedMembers.has(name) ||
      diagnosticSentences(diagnostic).length > 1
    )
      return 'warning';
    if (
      this.#facts.guardedVariables.has(this.#facts.patternVariables.get(offset) ?? '') ||
      this.#facts.assignedObjectOffsets.has(offset)
    )
      return 'warning';
    if (type.startsWith('Promise<')) return 'error';
    // A nearly correct name is a spelling mistake, even if the script may know other facts about the value.
    if (SUGGESTING.has(diagnostic.code) && this.#isSlip(type, offset)) return 'error';
    const isUnknown =
      this.#facts.testedMembers.has(name) ||
      this.#mentionsOneAt(this.#uncertainVariables, offset) ||
      !this.#isCertainType(type);
    const isAnnotated = !isPlainType(type) && this.#mentionsOneAt(this.#facts.annotatedVariables, offset);
    return isUnknown || isAnnotated || this.#facts.declaredShapes.has(printedTypeShape(type)) ? 'warning' : 'error';
  }

  /**
   * The verdict about a name or number in brackets. A number, as in `user[0].name`, rejects the script if the object's
   * type is certain, because an object is not a list. With other names in brackets, scripts use objects as records.
   */
  #indexVerdict({ messageChain, text }: NativeDiagnostic, offset: number): Verdict {
    const [index = '', type = ''] = quotedTexts(messageChain?.[0]?.text ?? '');
    if (!/^\d+$/u.test(index) || !quotedTexts(text).includes(index)) return 'off';
    const isUncertain = this.#facts.mentions.some(
      ([start, , name]) => start === offset && this.#uncertainVariables.has(name),
    );
    const isKnown = type.startsWith('{') && this.#isCertainType(type) && !isUncertain;
    return isKnown && !this.#facts.declaredShapes.has(printedTypeShape(type)) ? 'error' : 'off';
  }

  #isSlip(type: string, offset: number): boolean {
    if (UNCERTAIN_TYPE.test(type) || isUnion(type)) return false;
    return !PRIMITIVE.test(type) || !this.#mentionsOneAt(this.#uncertainVariables, offset);
  }

  #misuseVerdict(diagnostic: NativeDiagnostic, offset: number): Verdict {
    const type = misusedType(diagnostic);
    if (type === 'never' && this.isCalledNamespace(diagnostic, offset)) return 'off';
    if (/^Not all constituents|^No constituent/u.test(diagnostic.messageChain?.[0]?.text ?? '')) return 'warning';
    return this.#isCertainType(type) && !this.#mentionsOneAt(this.#uncertainVariables, offset) ? 'error' : 'warning';
  }

  #wrongArgument(diagnostic: NativeDiagnostic, offset: number, call: CallFact): Verdict {
    if (this.#judgedCalls.accepted.has(call) && !TOO_MANY.test(diagnostic.text)) return 'off';
    const verdict = this.#argumentVerdict(diagnostic, offset, call);
    const issues = this.#judgedCalls.issues.filter((issue) => issue.call === call);
    // The tool's own message replaces warnings and a diagnostic at the same offset, because this message is shorter and
    // more precise.
    const isReported = issues.some((issue) => issue.offset === offset || verdict === 'warning');
    return isReported ? 'off' : verdict;
  }

  /**
   * The verdict about JSON.parse of a value that is no text. It returns objects and lists as they are, and throws for a
   * promise, possibly after earlier effects of the script.
   */
  #parsedVerdict(diagnostic: NativeDiagnostic, offset: number): Verdict {
    const from = mismatchedTypes([diagnostic.text])[0]?.from ?? 'unknown';
    if (/[}\]]$/u.test(from)) return 'off';
    const isOther =
      from.endsWith('>') && this.#isCertainType(from) && !this.#mentionsOneAt(this.#uncertainVariables, offset);
    return isOther && !this.#isInTryBlock(offset) ? 'error' : 'warning';
  }

  /**
   * The verdict about a comparison whose result never changes, such as that of a number and a string, or of two
   * different strings.
   */
  #comparisonVerdict({ text }: NativeDiagnostic, offset: number, end: number): Verdict {
    const [left = [], right = []] = [...text.matchAll(/'(.+?)'(?= (?:and|have|is|to)\b|\.$)/gsu)].map(([, type]) =>
      unionTypes(withChoices(type as string, this.#choices)),
    );
    const sides = [left, right].toSorted((one, other) => one.length - other.length) as [string[], string[]];
    const areTexts = sides.flat().every((type) => type.startsWith('"'));
    const isCertain = areTexts ? sides[0].length === 1 && sides[1].length > 1 : sides.flat().every(isSimple);
    const isUncertain = this.#facts.mentions.some(
      ([start, , name]) =>
        (this.#uncertainVariables.has(name) || this.#facts.annotatedVariables.has(name)) &&
        offset <= start &&
        start < end,
    );
    return isCertain && sides[0].length > 0 && !isUncertain && !this.#isCoerced(offset) ? 'error' : 'warning';
  }

  /** Whether another case of the same `switch`, or its default, may match. */
  #isOneOfSeveral(offset: number): boolean {
    const fact = this.#facts.switches.find(({ cases }) => cases.includes(offset));
    return fact !== undefined && (fact.hasDefault || !fact.cases.every((at) => this.#neverEqual.has(at)));
  }

  /** Whether the script adds a text to a number: the following statements get the digits one after the other. */
  #isTextInSum(diagnostic: NativeDiagnostic, offset: number): boolean {
    if (!ADDED_TEXT.has(diagnostic.code)) return false;
    const sum = this.#facts.sums.find(({ start, end }) => start <= offset && offset < end);
    const mismatch = mismatchedTypes(diagnosticSentences(diagnostic)).at(-1);
    if (sum === undefined || mismatch?.from !== 'string' || mismatch.to !== 'number') return false;
    const [start, end] = sum.added;
    return !this.#mentionsUncertain({ start, end }) && !this.#isInTryBlock(offset);
  }

  /** Whether the comparison uses `==` or `!=`, which convert between types. */
  #isCoerced(offset: number): boolean {
    return this.#facts.convertingComparisons.some(([start, end]) => start <= offset && offset < end);
  }

  /**
   * The verdict about an argument. A value that does not fit rejects the script. A diagnostic is dropped if TypeScript
   * knows less than the script: to TypeScript, a list of strings that are all among the choices is a `string[]`.
   * Diagnostics about values that may be undefined, and about variables that the script changes, become warnings.
   */
  #argumentVerdict(diagnostic: NativeDiagnostic, offset: number, call: CallFact): Verdict {
    const sentences = diagnosticSentences(diagnostic);
    if (sentences.some((sentence) => INHERITED_MEMBER.test(sentence))) return 'warning';
    const incomplete = sentences.map(incompleteType).find((type) => type !== undefined);
    if (incomplete !== undefined) return this.#incompleteVerdict(sentences, incomplete, offset, call);
    const mismatch = mismatchedTypes(sentences).at(-1);
    if (mismatch !== undefined && (isLiteral(mismatch.from) || this.#isJsonText(offset))) return 'error';
    if (mismatch !== undefined && this.#mayFit(mismatch)) return 'off';
    if (mismatch !== undefined && isPossiblyMissing(mismatch, sentences)) return 'warning';
    const isUnknown = !NOT_ABOUT_VALUES.has(diagnostic.code) && this.#mentionsUncertain(this.#valueAt(offset) ?? call);
    return isUnknown || this.#facts.declaredTypes.has(mismatch?.from ?? '') ? 'warning' : 'error';
  }

  #incompleteVerdict(sentences: readonly string[], type: string, offset: number, call: CallFact): Verdict {
    if (this.#facts.plainLiteralOffsets.has(offset)) return 'error';
    // The script builds the value in steps, so its members are unknown to the check.
    if (sentences.flatMap(missingNames).some((name) => this.#facts.assignedMembers.has(name))) return 'off';
    if (call.hasSpread || !this.#hasWrittenMembers(type)) return 'warning';
    return this.#mentionsUncertain(this.#valueAt(offset) ?? call) ? 'warning' : 'error';
  }

  /** Whether a value of the wider type may fit nevertheless, for example because the value is one of the choices. */
  #mayFit({ from, to: printed }: Mismatch): boolean {
    const to = unionTypes(withChoices(printed, this.#choices));
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
  #hasWrittenMembers(type: string): boolean {
    return this.#isCertainType(type) && !/^(Record<|Partial<|\{ \[)/u.test(type);
  }

  #isCertainType(type: string): boolean {
    const name = /^(?:Partial<|Readonly<|Pick<|Omit<)?([A-Za-z_$][\w$]*)/u.exec(type)?.[1] ?? '';
    if (this.#facts.declaredTypes.has(name)) return false;
    if (this.#facts.hasOpenClasses && /^[A-Za-z_$][\w$]*$/u.test(type) && !PRIMITIVE.test(type)) return false;
    return !UNCERTAIN_TYPE.test(type) && !isUnion(type) && !isFunctionType(type);
  }

  #mentionsOneAt(variables: ReadonlySet<string>, offset: number): boolean {
    return this.#facts.mentions.some(([start, end, name]) => variables.has(name) && start <= offset && offset < end);
  }

  #isInFunction(offset: number): boolean {
    return this.#facts.functionRanges.some(([start, end]) => start <= offset && offset < end);
  }

  /** The member of an object literal that begins at the offset. */
  #valueAt(offset: number): { start: number; end: number } | undefined {
    const range = this.#facts.propertyRanges.find(([start]) => start === offset);
    return range && { start: range[0], end: range[1] };
  }

  #mentionsUncertain({ start, end }: { start: number; end: number }): boolean {
    return this.#facts.mentions.some(([at, , name]) => this.#uncertainVariables.has(name) && start <= at && at < end);
  }
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
/** A sum that becomes a text: `total += row.price`, `reduce((sum, row) => sum + row.price, 0)`. */
const ADDED_TEXT = new Set([2322, 2345, 2769]);
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

/** Types about which TypeScript knows less than the script. */
const UNCERTAIN_TYPE =
  /^(\{\}|never|object|Error|Function|unknown|undefined|null|void|Object|globalThis|PromiseSettledResult<.*|.*__proto__.*)$/su;
/** Members that every object has, and that a schema may define with another type. */
const INHERITED_MEMBER =
  /^Types of property '(?:constructor|hasOwnProperty|isPrototypeOf|propertyIsEnumerable|toLocaleString|toString|valueOf)' are/u;
