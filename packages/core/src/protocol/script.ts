import type { z } from 'zod';
import type { ScriptFailure } from './errors.js';
import type { PlannedCallSchema } from './items.js';
import type { KnownMembers } from './known-members.js';
import type { LiteralMembers, SavedScript } from './saved-script.js';
import type { ValidationIssue } from './tools.js';

export type ScriptLanguage = 'ts' | 'js';

/** `tool`: the code arrived as a tool's argument, not in text. */
export type ScriptFormat = 'xml' | 'fence' | 'tool';

/** A finding of the checker or of a repair. Positions are 1-based, in the model's own source. */
export interface Diagnostic {
  severity: 'error' | 'warning' | 'info';
  message: string;
  line?: number | undefined;
  column?: number | undefined;
  /** A stable name: a rule (`floating-promise`), a repair (`repair-fence`), a TypeScript code (`ts2339`). */
  code: string;
}

/** One tool call that a script can make, read from the source before the script runs. */
export type PlannedCall = KnownMembers<z.infer<typeof PlannedCallSchema>>;

/**
 * The statically known parts of a call's argument. Paths have the form used in messages: `args.items[2].city`.
 */
export interface KnownArgument {
  /** The argument, with null in place of each unknown part. */
  readonly value: unknown;
  /** Paths of the unknown parts. */
  readonly unknown: readonly string[];
  /** Paths of the unknown parts that are certainly present. */
  readonly given: readonly string[];
  /** Paths of the objects that may have members besides the known ones. */
  readonly open: readonly string[];
  /** Positions of the parts in the source, as UTF-16 offsets. The argument itself is always included. */
  readonly places: readonly (readonly [path: string, offset: number])[];
}

/** A tool's verdict about a `KnownArgument`. */
export interface KnownVerdict {
  readonly issues: readonly ValidationIssue[];
  /** Paths of members that are null and count as omitted. */
  readonly absent: readonly string[];
}

export interface SourcePosition {
  line: number;
  column: number;
}

/** A position in the code that a script runs. */
export interface ScriptPosition extends SourcePosition {
  /** The saved script, `NAME@VERSION`, that contains the position. Undefined if the script itself contains it. */
  saved?: string | undefined;
}

/** A script that was parsed, checked and stripped of types, ready for any runtime. Immutable; cached by SHA-256. */
export interface CompiledScript {
  /** The SHA-256 of the model's own source, in hexadecimal digits. */
  readonly sha256: string;
  /**
   * SHA-256 of `javascript`: the key of data that an engine derives from the code. Never use the hash of the source as
   * this key.
   */
  readonly codeSha256: string;
  /** The model's own text. */
  readonly source: string;
  /**
   * JavaScript: one parenthesised async function expression in strict mode, without parameters. Evaluating it has no
   * effect; calling it starts the script.
   */
  readonly javascript: string;
  /** Maps a 1-based position in `javascript` to the model's own source; undefined for generated code. */
  readonly originalPosition: (line: number, column: number) => ScriptPosition | undefined;
  /** The mapping of positions as JSON text, for a runtime: see `SandboxJob`. Computed once. */
  readonly positions: () => string;
  readonly diagnostics: readonly Diagnostic[];
  readonly plan: readonly PlannedCall[];
  /** The literal members of each planned call's argument, in the plan's order; null for a call without such members. */
  readonly given: readonly (LiteralMembers | null)[];
  /** The saved scripts that the script can run. */
  readonly linked: readonly LinkedScript[];
  /**
   * The positions of the destructuring patterns of the source (`const { a } = x`, `([a]) => …`), in order. Engines
   * often lose these positions.
   */
  readonly patterns: readonly (SourcePosition & { readonly kind: 'object' | 'array' })[];
  /** Undefined unless the script belongs to a program. */
  readonly topLevel?: TopLevel | undefined;
  /** This script as plain JSON data; the compiler's `restoreScript` restores it. */
  readonly stored: () => StoredScript;
}

/** The stored form of a compiled script. */
export interface StoredScript {
  readonly source: string;
  readonly javascript: string;
  /** The mapping of positions in `javascript` to `source`, in the compiler's own format. */
  readonly mappings: string;
  readonly layers: readonly (readonly { readonly start: number; readonly end: number; readonly text: string }[])[];
  readonly diagnostics: readonly Diagnostic[];
  readonly plan: readonly PlannedCall[];
  readonly given: CompiledScript['given'];
  readonly patterns: CompiledScript['patterns'];
  readonly linked?: Links | undefined;
  readonly topLevel?: TopLevel | undefined;
}

/** The declarations at the top level of a script of a program. Offsets refer to the script after its repairs. */
export interface TopLevel {
  readonly variables: readonly TopLevelVariable[];
  /** The source of each interface and type alias. */
  readonly types: readonly string[];
  /** The calls of functions in the variables of this script and of earlier ones. */
  readonly held?: readonly HeldCalls[] | undefined;
  /** The offset of the last statement if it is a `return`, otherwise the end of the script. */
  readonly end: number;
}

/** Variables, and the tools that functions in them may call. No object with these names as keys: scripts choose them. */
export type KeptTools = readonly (readonly [variable: string, tools: readonly string[]])[];

/** A statement whose functions variables may hold. */
export interface HeldCalls {
  readonly holders: readonly string[];
  /** The tools that the functions call. */
  readonly tools: readonly string[];
  /** The variables whose functions the holders may hold or call too. */
  readonly used: readonly string[];
}

export interface TopLevelVariable {
  readonly name: string;
  readonly kind: 'constant' | 'variable' | 'function' | 'class' | 'enum';
  /** The offset of the name. */
  readonly offset: number;
  /** True for a `var` in a block: without a value, it counts as not initialised. */
  readonly isOfBlock?: boolean | undefined;
  /** The source of a class or an enum. */
  readonly text?: string | undefined;
}

/** The saved scripts that run in a script's own sandbox. */
export interface Links {
  /** The names, as scripts write them, of the tools that run saved scripts. */
  readonly tools: readonly string[];
  readonly scripts: readonly LinkedScript[];
}

/** One version of a saved script, compiled for the scripts that run it. */
export interface LinkedScript extends SavedScript {
  /** The first line of the code declares `input`; the source starts on the second line. */
  readonly compiled: Omit<StoredScript, 'linked'>;
}

export type CompileResult =
  | { readonly ok: true; readonly script: CompiledScript; readonly cacheHit: boolean }
  | {
      readonly ok: false;
      readonly script?: undefined;
      readonly failure: ScriptFailure;
      readonly diagnostics: readonly Diagnostic[];
      readonly cacheHit: boolean;
    };

/** A part of a model's answer. The `raw` texts of all segments, concatenated in order, are the answer byte for byte. */
export type AnswerSegment =
  | { readonly type: 'text'; readonly raw: string; readonly text: string }
  | { readonly type: 'reasoning'; readonly raw: string; readonly text: string }
  | {
      readonly type: 'script';
      readonly raw: string;
      readonly source: string;
      readonly language: ScriptLanguage;
      readonly format: 'xml' | 'fence';
    }
  | {
      /** A malformed block. None of its code runs. */
      readonly type: 'malformed';
      readonly raw: string;
      readonly source: string;
      readonly language: ScriptLanguage;
      readonly format: 'xml' | 'fence';
      readonly failure: ScriptFailure;
    };
