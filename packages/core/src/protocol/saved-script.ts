import type { JsonObject } from './json.js';

/** The members of a call's argument that are literal texts, numbers and booleans. */
export type LiteralMembers = Readonly<Record<string, string | number | boolean>>;

/** A script that was saved under a name, with the declaration of its input. */
export interface SavedScript {
  /** The name by which a call finds the script: letters, digits and `_`. */
  readonly name: string;
  readonly version: number;
  /** True if calls that name no version run this version. Default: false. */
  readonly isDefault?: boolean | undefined;
  /** TypeScript: the body of an async function that reads `input` and returns the result. */
  readonly source: string;
  /** JSON Schema of an object. */
  readonly input: JsonObject;
  /** JSON Schema of the result. Default: any JSON value. */
  readonly output?: JsonObject | undefined;
  /** True: the model had read untrusted text before it wrote the script, and no user has approved the script. */
  readonly untrusted?: boolean | undefined;
}

/** The context of the script that makes a call, for a tool that finds saved scripts. */
export interface SavedScriptOwner {
  readonly app: unknown;
  readonly principal: string | undefined;
  readonly threadId: string | undefined;
}

/**
 * Finds the saved script that a call names, before the calling script starts. `given` has the literal members of the
 * call's argument. Returns undefined if there is no such script.
 */
export type FindSavedScript = (
  given: LiteralMembers,
  owner: SavedScriptOwner,
) => SavedScript | undefined | Promise<SavedScript | undefined>;

/** The result of a tool with `savedScript`: the script that runs now, `NAME@VERSION`, and its checked input. */
export interface SavedScriptCall {
  readonly script: string;
  readonly input: unknown;
  /**
   * True if the tool is called again with a `SavedResult`. The result of the second call is `{ value }`, where `value`
   * is the checked result of the saved script.
   */
  readonly checksResult?: boolean | undefined;
}

/** The argument of the second call to a tool with `savedScript`. The second call counts as a tool call, too. */
export interface SavedResult {
  readonly savedResult: unknown;
  readonly script: string;
}

/** The result of a check of a saved script. */
export type SavedScriptCheck =
  /** `tools`: the tools that the saved script calls. */
  { readonly ok: true; readonly tools: readonly string[] } | { readonly ok: false; readonly problem: string };

/** The functions of the harness for a tool that keeps saved scripts. */
export interface SavedScripts {
  /** The saved scripts that are linked to the calling script. Empty for structured calls and detached tasks. */
  readonly linked: readonly SavedScript[];
  /** Compiles a saved script against the tools of the harness, without running it. */
  readonly check: (script: SavedScript) => Promise<SavedScriptCheck>;
}

/** `NAME@VERSION`. */
export function savedScriptId({ name, version }: Pick<SavedScript, 'name' | 'version'>): string {
  return `${name}@${version}`;
}
