import type { ScriptFailure } from './errors.js';
import type { ValidationIssue } from './tools.js';

export type ScriptLanguage = 'ts' | 'js';

/** `tool`: the code came as a tool's argument, not in text. */
export type ScriptFormat = 'xml' | 'fence' | 'tool';

/** What checking or repairing has to say about a script. Positions are 1-based, in the model's own source. */
export interface Diagnostic {
  severity: 'error' | 'warning' | 'info';
  message: string;
  line?: number;
  column?: number;
  /** A stable name: a rule (`floating-promise`), a repair (`repair-fence`), a TypeScript code (`ts2339`). */
  code: string;
}

/** One tool call that a script can make, read from its source before it runs. */
export interface PlannedCall {
  tool: string;
  line: number;
  column: number;
  /** The argument object, where every part of it is literal. */
  input?: unknown;
  /** Inside a loop or a callback that may run many times. */
  repeated: boolean;
  /** Behind a condition. */
  conditional: boolean;
}

/**
 * What is certain of a call's argument before the script runs. Paths are those of messages: `args.items[2].city`.
 */
export interface KnownArgument {
  /** Null stands for each part that is not known. */
  readonly value: unknown;
  /** Paths of the parts that are not known. */
  readonly unknown: readonly string[];
  /** Those of them that are certainly there. */
  readonly given: readonly string[];
  /** Paths of the objects that may have members beside the known ones. */
  readonly open: readonly string[];
  /** Where the parts stand in the source: UTF-16 offsets. The argument itself is always among them. */
  readonly places: readonly (readonly [path: string, offset: number])[];
}

/** What a tool says of such an argument. */
export interface KnownVerdict {
  readonly issues: readonly ValidationIssue[];
  /** Paths of members that are null and count as left out. */
  readonly absent: readonly string[];
}

export interface SourcePosition {
  line: number;
  column: number;
}

/** A script that was parsed, checked and stripped, ready for any runtime. Immutable; cached by SHA-256. */
export interface CompiledScript {
  /** SHA-256 of the model's own source, hex. */
  readonly sha256: string;
  /** Of `javascript`: what an engine made of the code is kept under it, and never under the source's hash. */
  readonly codeSha256: string;
  /** The model's own text. */
  readonly source: string;
  /**
   * JavaScript: one parenthesised async function expression, strict, that takes no arguments.
   * Evaluating it has no effect; calling it starts the script.
   */
  readonly javascript: string;
  /** Maps a 1-based position in `javascript` to the model's own source; undefined for what is not the model's. */
  readonly originalPosition: (line: number, column: number) => SourcePosition | undefined;
  /** The same as JSON text, for a runtime: see `SandboxJob`. Made once. */
  readonly positions: () => string;
  readonly diagnostics: readonly Diagnostic[];
  readonly plan: readonly PlannedCall[];
  /** Where the source takes values apart (`const { a } = x`, `([a]) => …`), in source order: engines often lose these places. */
  readonly patterns: readonly (SourcePosition & { readonly kind: 'object' | 'array' })[];
  /** The same as plain JSON data; `restoreScript` of the compiler makes it whole again. */
  readonly stored: () => StoredScript;
}

/** A compiled script at rest. */
export interface StoredScript {
  readonly source: string;
  readonly javascript: string;
  /** How positions in `javascript` lead back to `source`: the compiler's own. */
  readonly mappings: string;
  readonly layers: readonly (readonly { readonly start: number; readonly end: number; readonly text: string }[])[];
  readonly diagnostics: readonly Diagnostic[];
  readonly plan: readonly PlannedCall[];
  readonly patterns: CompiledScript['patterns'];
}

export type CompileResult =
  | { readonly ok: true; readonly script: CompiledScript; readonly cacheHit: boolean }
  | {
      readonly ok: false;
      readonly failure: ScriptFailure;
      readonly diagnostics: readonly Diagnostic[];
      readonly cacheHit: boolean;
    };

/**
 * A piece of a model's answer, in order. Concatenating `raw` of every segment gives the answer back byte
 * for byte.
 */
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
      /** A block that is not well formed. Nothing of it runs. */
      readonly type: 'malformed';
      readonly raw: string;
      readonly source: string;
      readonly language: ScriptLanguage;
      readonly format: 'xml' | 'fence';
      readonly failure: ScriptFailure;
    };
