import type { JsonObject, JsonValue } from './json.js';

/** What a call changes. Reads may be repeated after a crash; of the others, those of tools that are `idempotent`. */
export type ToolEffect = 'read' | 'write' | 'external';

/** What a tool's `execute` is told about its call. */
export interface ToolCallContext {
  /** The host's own context, as given to `runScript` or `callTool`. Never stored. */
  readonly app: unknown;
  /** Whose run it is. */
  readonly principal: string | undefined;
  /** Aborted when the call is no longer wanted. */
  readonly signal: AbortSignal;
  readonly callId: string;
  readonly scriptId: string | undefined;
  /** The same after a resume or a replay, and for a repetition or a retry of the call: script id and call index. */
  readonly idempotencyKey: string;
  /** Tells a person how far the call is. */
  readonly progress: (message: string) => void;
  /**
   * Puts out a piece of what the call produces, as it comes: what `tools.spawn.read` shows of a detached task before
   * it ends. Only for such a call; undefined where nobody can read it.
   */
  readonly output: ((text: string) => void) | undefined;
  /** Bytes of each output stream that a process tool should keep. */
  readonly maxOutputBytes: number;
}

export type ApprovalMode = 'never' | 'always' | 'policy';

export type ApprovalPredicate = (
  input: never,
  call: { tool: string; principal: string | undefined; app: unknown },
) => boolean | Promise<boolean>;

export interface ValidationIssue {
  /** Path to the value, as a script writes it: `args.city`, `args.items[2]`. */
  path: string;
  message: string;
  expected?: string;
  received?: string;
}

export type Validated =
  /** `absent`: paths of members that were null, may not be, and count as left out. */
  | { readonly ok: true; readonly value: JsonValue; readonly absent?: readonly string[] }
  | { readonly ok: false; readonly issues: readonly ValidationIssue[] };

/** A tool as the harness holds it; made by `defineTool`. Frozen. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments, an object schema. */
  readonly inputSchema: JsonObject;
  /** Names that arguments had before, with those of today: accepted, and not shown to models. */
  readonly oldNames?: Readonly<Record<string, string>> | undefined;
  /** JSON Schema of the result, where it is known. */
  readonly outputSchema: JsonObject | undefined;
  readonly approval: ApprovalMode | ApprovalPredicate;
  readonly effect: ToolEffect;
  /** The tool itself makes a repetition under the same `idempotencyKey` harmless: after a crash the call is repeated. */
  readonly idempotent?: boolean;
  /**
   * Checks strictly (unknown keys are errors), applies defaults, and takes null for a member that may be left out, and
   * may not be null, as its absence. Never throws.
   */
  readonly validateInput: (input: unknown) => Validated;
  readonly validateOutput: (output: unknown) => Validated;
  readonly permissions: ((input: never) => readonly string[]) | undefined;
  readonly preview: ((input: never) => string | Promise<string>) | undefined;
  /** What a result is to people, beside its being data: `plan`, see `PlanItemSchema`. */
  readonly shows?: 'plan' | undefined;
  readonly execute: (input: never, context: ToolCallContext) => unknown;
}
