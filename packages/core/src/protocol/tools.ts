import type { JsonObject, JsonValue } from './json.js';
import type { FindSavedScript, SavedScripts } from './saved-script.js';

/** The effect of a call. After a crash, reads may be repeated, and other calls only if the tool is `idempotent`. */
export type ToolEffect = 'read' | 'write' | 'external';

/** The context that a tool's `execute` receives. */
export interface ToolCallContext {
  /** The host's own context, as passed to `runScript` or `callTool`. Never stored. */
  readonly app: unknown;
  /** The owner of the run. */
  readonly principal: string | undefined;
  /** The conversation of the call. Default: a generated id. */
  readonly threadId: string | undefined;
  readonly runId: string | undefined;
  /** Aborts when the result is no longer needed. */
  readonly signal: AbortSignal;
  readonly callId: string;
  readonly scriptId: string | undefined;
  /** Script id and call index. Stays the same after a resume or replay, and when the call is repeated or retried. */
  readonly idempotencyKey: string;
  /** Reports progress to the user. */
  readonly progress: (message: string) => void;
  /**
   * Emits a chunk of the call's output as it is produced: `tools.spawn.read` returns it before a detached task ends.
   * Only for detached tasks; undefined if nobody can read it.
   */
  readonly output: ((text: string) => void) | undefined;
  /** The saved scripts of the harness; undefined if the caller is no harness. */
  readonly savedScripts?: SavedScripts | undefined;
  /** Bytes of each output stream that a process tool should keep. */
  readonly maxOutputBytes: number;
}

/** The callers of a tool if the model's provider runs code: the model itself, that code, or both. */
export type ToolCallers = 'direct' | 'code' | 'both';

/** The caller: what a tool knows about a call before the call runs. */
export type ToolCallScope = Pick<ToolCallContext, 'app' | 'principal' | 'threadId'>;

export type ApprovalMode = 'never' | 'always' | 'policy';

export type ApprovalPredicate = (
  input: never,
  call: { tool: string; principal: string | undefined; app: unknown },
) => boolean | Promise<boolean>;

export interface ValidationIssue {
  /** The path to the value, as scripts write it: `args.city`, `args.items[2]`. */
  path: string;
  message: string;
  expected?: string;
  received?: string;
}

export type Validated =
  /** `absent`: paths of members that were null, must not be null, and count as omitted. */
  | { readonly ok: true; readonly value: JsonValue; readonly absent?: readonly string[] }
  | { readonly ok: false; readonly issues: readonly ValidationIssue[] };

/** A tool as the harness stores it; created by `defineTool`. Frozen. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments, an object schema. */
  readonly inputSchema: JsonObject;
  /** Former argument names mapped to current ones: accepted, but not shown to models. */
  readonly oldNames?: Readonly<Record<string, string>> | undefined;
  /** JSON Schema of the result, if known. */
  readonly outputSchema: JsonObject | undefined;
  readonly approval: ApprovalMode | ApprovalPredicate;
  readonly effect: ToolEffect;
  /** The callers if the provider runs code. Default: `both` for reads, `direct` for all other tools. */
  readonly callers?: ToolCallers | undefined;
  /** The tool makes repeated calls with the same `idempotencyKey` harmless, so a call is repeated after a crash. */
  readonly idempotent?: boolean;
  /**
   * Validates strictly (unknown keys are errors) and applies defaults. Null in an optional member that must not be null
   * counts as omitted. Never throws.
   */
  readonly validateInput: (input: unknown) => Validated;
  readonly validateOutput: (output: unknown) => Validated;
  readonly permissions: ((input: never) => readonly string[]) | undefined;
  readonly preview: ((input: never, scope: ToolCallScope) => string | Promise<string>) | undefined;
  /**
   * Returns the input with exact versions of the data that it refers to, before a user decides. A throw ends the call.
   */
  readonly pin?: ((input: never, scope: ToolCallScope) => unknown) | undefined;
  /** Maximum characters of the preview that users see. Longer previews are truncated in the middle. Default 4000. */
  readonly previewLength?: number | undefined;
  /** The form in which users see a result, besides its data: `plan`, see `PlanItemSchema`. */
  readonly shows?: 'plan' | undefined;
  /**
   * A call to this tool runs a saved script, in the sandbox of the script that makes it. The scripts that its calls name
   * are linked before that script starts. `execute` checks the input and returns a `SavedScriptCall`.
   */
  readonly savedScript?: FindSavedScript | undefined;
  readonly execute: (input: never, context: ToolCallContext) => unknown;
  /** Undoes a completed call; `output` is its result. Undefined: the tool cannot undo its calls. */
  readonly revert?: ((input: never, output: never, context: ToolCallContext) => unknown) | undefined;
}
