import type { KnownArgument } from '../../protocol/index.js';
import type { Finding } from './findings.js';
import type { ResultText } from './result-texts.js';

/** The facts by which TypeScript's diagnostics are judged. Offsets refer to the text that was parsed. */
export interface SourceFacts extends TreeFacts {
  /** Uses of variables that hold a namespace of tools, or a tool. */
  readonly toolVariableOffsets: ReadonlySet<number>;
  /** Expressions that convert results to text. */
  readonly resultTexts: readonly ResultText[];
  /** Ranges of text that repairs, not the model, have inserted. */
  readonly insertedRanges: readonly SourceRange[];
  /** Faults of the script that are found without types. */
  readonly refusals: readonly Finding[];
}

/** The facts that one walk over the syntax tree collects. */
export interface TreeFacts {
  /** Type-only syntax: it does not exist when the script runs. */
  readonly typeRanges: readonly SourceRange[];
  /** Blocks of `try` statements that have a `catch`. */
  readonly tryBlocks: readonly SourceRange[];
  /** Calls in source order; an outer call precedes the calls inside it. */
  readonly calls: readonly CallFact[];
  /** Offsets at which members of `tools` or of its namespaces are named, excluding members of a tool's result. */
  readonly toolMemberOffsets: ReadonlySet<number>;
  /** Members that the script assigns somewhere, or that its classes have: `total.count = 1`. */
  readonly assignedMembers: ReadonlySet<string>;
  /** Members whose absence the script handles: `a.b ?? c`, `a.b?.()`, `'b' in a`, `const { b = 1 } = a`. */
  readonly guardedMembers: ReadonlySet<string>;
  /** Members that the script only tests: `if (a.b)`, `a.b === undefined`. */
  readonly testedMembers: ReadonlySet<string>;
  /** Names that the script tests with `typeof`, or reads as members of `globalThis`. */
  readonly probedNames: ReadonlySet<string>;
  /** Variables whose absence the script handles: `if (x)`, `x ?? y`. */
  readonly guardedVariables: ReadonlySet<string>;
  /** The variables that receive members of objects in patterns, by the offset of the member's name. */
  readonly patternVariables: ReadonlyMap<number, string>;
  /** Offsets of members whose object is itself a member that the script assigns: `state.value = …; state.value.x`. */
  readonly assignedObjectOffsets: ReadonlySet<number>;
  /**
   * Variables about which TypeScript knows less than the script, for example because they receive other values, or
   * members under computed names.
   */
  readonly uncertainVariables: ReadonlySet<string>;
  /** Variables with a type annotation. */
  readonly annotatedVariables: ReadonlySet<string>;
  /** Members of object literals, from their name to the end of their value. */
  readonly propertyRanges: readonly SourceRange[];
  /**
   * Start offsets of object literals without spread or computed members, and of the properties whose values they are.
   */
  readonly plainLiteralOffsets: ReadonlySet<number>;
  /** Functions, from their start to the end of their body. */
  readonly functionRanges: readonly SourceRange[];
  /** Comparisons with `==` and `!=`, which convert between types. */
  readonly convertingComparisons: readonly SourceRange[];
  readonly switches: readonly SwitchFact[];
  readonly sums: readonly SumFact[];
  /** Names of the members of each `{ … }` type that the script declares, sorted and joined. */
  readonly declaredShapes: ReadonlySet<string>;
  /** Uses of variables that are uncertain, annotated, or changed by a collecting method. */
  readonly mentions: readonly VariableMention[];
  /** Aliases, interfaces and type parameters that the script declares. */
  readonly declaredTypes: ReadonlySet<string>;
  /** True if `this` or a prototype receives members that the source never names, so that no class is fully known. */
  readonly hasOpenClasses: boolean;
}

export type SourceRange = readonly [start: number, end: number];

/** One use of a variable, up to the end of its chain: `a.b(c).d`. */
export type VariableMention = readonly [start: number, end: number, variable: string];

/** The start offsets of the values of a `switch`'s cases, and whether the `switch` has a default. */
export interface SwitchFact {
  readonly cases: readonly number[];
  readonly hasDefault: boolean;
}

/**
 * An addition to a number: `total += x`, if the script only counts with `total`, or the callback of `reduce(…, 0)`. The
 * range is where TypeScript reports an addition of text.
 */
export interface SumFact {
  readonly start: number;
  readonly end: number;
  /** The added expression, or the callback. */
  readonly added: SourceRange;
}

export interface CallFact {
  readonly start: number;
  readonly end: number;
  /** The name of the called tool; empty for a call that is not a tool call. */
  readonly tool: string;
  /** The variable on which a collecting method is called (`list.push(…)`); empty otherwise. */
  readonly collector: string;
  /** True for `JSON.parse(…)`. */
  readonly isParse: boolean;
  /** Whether the call is `JSON.stringify`, whose value is text whatever its arguments are. */
  readonly isStringify: boolean;
  /** Whether the call is one of `catalog.search`, `catalog.describe` and `catalog.list`. */
  readonly isCatalog: boolean;
  /** True if one of the call's arguments is an object literal with a spread: `{ ...defaults, id }`. */
  readonly hasSpread: boolean;
  /**
   * For a tool call: the known parts of its arguments. If the arguments depend on a loop variable, there is one
   * entry for each value of this variable.
   */
  readonly knownArguments?: readonly KnownArgument[] | undefined;
}
