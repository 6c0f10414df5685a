import type { CoveredPart } from './covered-part.js';
import type { JsonObject, JsonValue } from './json.js';
import type { ResultLabel, ToolFlow, Trust } from './provenance.js';
import type { RunFence } from './store-shapes.js';
import type { FindSavedScript, SavedScripts } from './saved-script.js';

/**
 * The effect of a call. After a crash, reads may be repeated. Other calls are repeated only if the tool is `idempotent`.
 */
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
  /**
   * The claim under which the host executes the run, or the run that launched this sub-agent. A store of the host refuses
   * the write of a process that has lost the claim. Undefined if the host has no store of runs.
   */
  readonly fence?: RunFence | undefined;
  /** Aborts when the result is no longer needed. */
  readonly signal: AbortSignal;
  readonly callId: string;
  readonly scriptId: string | undefined;
  /**
   * The script id and the call index; for a structured call, the call id. The key stays the same after a resume or
   * replay, and when the call is repeated or retried.
   */
  readonly idempotencyKey: string;
  /** Reports progress to the user. */
  readonly progress: (message: string) => void;
  /**
   * Adds a warning to the outcome of the script, which the model reads, such as that the result differs from its
   * declaration. Undefined if the caller is not a harness.
   */
  readonly warn?: ((message: string) => void) | undefined;
  /**
   * Emits a chunk of the call's output while a detached task runs, so that `tools.spawn.read` can return the chunk
   * before the task ends. Undefined if the call is not a detached task.
   */
  readonly output: ((text: string) => void) | undefined;
  /**
   * The parts that a user saw before approving the call. A tool that reads a text later than its `references` compares
   * the text with them.
   */
  readonly covers?: readonly CoveredPart[] | undefined;
  /** The saved scripts of the harness; undefined if the caller is not a harness. */
  readonly savedScripts?: SavedScripts | undefined;
  /** Bytes of each output stream that a process tool should keep. */
  readonly maxOutputBytes: number;
  /** Maximum time in ms that a tool should wait for a turn where calls of several principals wait. */
  readonly queueWaitMs?: number | undefined;
  /**
   * Whether the arguments may contain text of unknown authors, for a tool that stores them. Undefined if the caller is
   * not a harness.
   */
  readonly hasUntrustedInput?: (() => boolean) | undefined;
  /**
   * Marks the result as text of unknown authors. For a tool with `labels`, those count instead. Undefined if the caller is
   * not a harness.
   */
  readonly markUntrusted?: (() => void) | undefined;
}

/** The callers of a tool if the model's provider runs code: the model itself, that code, or both. */
export type ToolCallers = 'direct' | 'code' | 'both';

/** The members of the context that are known before the call runs. */
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
  expected?: string | undefined;
  received?: string | undefined;
}

export type ValidationResult =
  /** `absent`: the paths of members that count as omitted, because they were null and must not be null. */
  | { readonly ok: true; readonly value: JsonValue; readonly absent?: readonly string[] | undefined }
  | { readonly ok: false; readonly issues: readonly ValidationIssue[] };

/**
 * Keeps the shapes of a tool's results longer than the harness, such as in a file. A shape is JSON that names members
 * and kinds of values, and contains no value.
 */
export interface ResultShapes {
  /** The shape that was written last for this principal; undefined if there is none. */
  readonly read: (principal: string | undefined) => unknown;
  /** Called when the shape has changed. Must not throw. */
  readonly write: (principal: string | undefined, shape: JsonValue) => void;
}

/** A tool as the harness stores it; created by `defineTool`. Frozen. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments, an object schema. */
  readonly inputSchema: JsonObject;
  /** Other names of arguments, each mapped to the argument's name: accepted, but not shown to models. */
  readonly aliases?: Readonly<Record<string, string>> | undefined;
  /** JSON Schema of the result, if known. */
  readonly outputSchema: JsonObject | undefined;
  /**
   * For a tool without an output schema: keeps what its results looked like. Default: the harness remembers it for its
   * own life.
   */
  readonly resultShapes?: ResultShapes | undefined;
  readonly approval: ApprovalMode | ApprovalPredicate;
  readonly effect: ToolEffect;
  /** The callers if the provider runs code. Default: `both` for reads, `direct` for all other tools. */
  readonly callers?: ToolCallers | undefined;
  /**
   * True if the tool makes repeated calls with the same `idempotencyKey` harmless, so that a call is repeated after a
   * crash.
   */
  readonly idempotent?: boolean | undefined;
  /**
   * Validates strictly (unknown keys are errors) and applies defaults. Null in an optional member that must not be null
   * counts as omitted. Never throws.
   */
  readonly validateInput: (input: unknown) => ValidationResult;
  readonly validateOutput: (output: unknown) => ValidationResult;
  readonly permissions: ((input: never) => readonly string[]) | undefined;
  readonly preview: ((input: never, scope: ToolCallScope) => string | Promise<string>) | undefined;
  /**
   * Called before a user decides. Returns the input with exact versions of the data that the input refers to. If the
   * function throws, the call fails.
   */
  readonly pin?: ((input: never, scope: ToolCallScope) => unknown) | undefined;
  /**
   * Returns the stored texts to which the input refers, by names for a user. An approval covers the SHA-256 of each: if
   * one has changed before the call is executed, the user is asked again.
   */
  readonly references?:
    | ((
        input: never,
        scope: ToolCallScope,
      ) => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>)
    | undefined;
  /**
   * Identifies the code of the tool, such as a server and its fingerprint. An approval of a tool with another source
   * does not count.
   */
  readonly source?: string | undefined;
  /** Maximum characters of the preview that users see. Longer previews are truncated in the middle. Default 4000. */
  readonly previewLength?: number | undefined;
  /** The form in which users see a result, besides its data. `plan`: see `PlanItemSchema`. */
  readonly shows?: 'plan' | undefined;
  /**
   * A call to this tool runs a saved script in the sandbox of the script that makes the call. The saved scripts that
   * the calls of a script name are linked before the script starts. `execute` checks the input and returns a
   * `SavedScriptCall`.
   */
  readonly savedScript?: FindSavedScript | undefined;
  /** Whether the results are text of unknown authors. Default `trusted`. */
  readonly trust?: Trust | undefined;
  /** Returns labels of parts of a result. If it throws, the whole result counts as untrusted. */
  readonly labels?: ((result: never) => readonly ResultLabel[]) | undefined;
  /** The arguments that untrusted text must not choose without a question. */
  readonly flow?: ToolFlow | undefined;
  readonly execute: (input: never, context: ToolCallContext) => unknown;
  /** Undoes a completed call; `output` is its result. Undefined: the tool cannot undo its calls. */
  readonly revert?: ((input: never, output: never, context: ToolCallContext) => unknown) | undefined;
}
