import { ToolscriptUsageError } from '../protocol/errors.js';
import type { FindSavedScript } from '../protocol/saved-script.js';
import type { ResultLabel, ToolFlow, Trust } from '../protocol/provenance.js';
import type { Tool, ToolCallContext, ToolCallers, ToolCallScope, ToolEffect } from '../protocol/tools.js';
import { deepFreeze } from '../protocol/json.js';
import { didYouMean } from '../text/nearest-names.js';
import { nullsAsAbsent, readAliases, withoutAliases, type ArgumentAliases } from './accepted-arguments.js';
import { readFlow } from './tool-flow.js';
import { compileJsonSchema } from '../schema/json-schema.js';
import { compileStandardSchema, standardKind, type StandardSchema } from '../schema/standard-schema.js';
import { compileZodSchema, isZodSchema, type CompiledSchema } from '../schema/zod-schema.js';

/** The common part of the schemas of all versions of zod 4, because a host may use a version other than core's. */
interface AnyZodSchema {
  readonly _zod: { readonly input: unknown; readonly output: unknown };
}

/** A schema of zod 4, or of another library that implements Standard Schema with a JSON Schema. */
export type ToolSchema = AnyZodSchema | StandardSchema<unknown, unknown>;

/** The argument of `execute`: the type of the schema, or an open record if the input is a JSON Schema. */
export type ToolInput<Input> = Input extends AnyZodSchema
  ? Input['_zod']['output']
  : Input extends StandardSchema<infer _Sent, infer Read>
    ? Read
    : // oxlint-disable-next-line typescript/no-explicit-any
      Record<string, any>;

/** The return value of `execute`: the input type of the output schema, or any value if there is no such schema. */
export type ToolResult<Output> = Output extends AnyZodSchema
  ? Output['_zod']['input']
  : Output extends StandardSchema<infer Sent, infer _Read>
    ? Sent
    : unknown;

/** A tool, as its author writes it for `defineTool`. */
export interface ToolDefinition<Input extends ToolSchema | undefined, Output extends ToolSchema | undefined> {
  /** The name consists of letters, digits, `_`, `$` and `-`; dots make namespaces. */
  name: string;
  /** The description for the model. Short listings show only its first sentence. */
  description: string;
  /**
   * Schema of an object: zod 4, or Standard Schema with a JSON Schema. A tool without this schema and without
   * `inputSchema` takes no arguments.
   */
  input?: Input | undefined;
  /** JSON Schema of an object (2020-12, or an older draft). */
  inputSchema?: object | undefined;
  /** Schema of the result, as for `input`; it makes the script's types exact. */
  output?: Output | undefined;
  /** JSON Schema of the result. */
  outputSchema?: object | undefined;
  /**
   * Other names of arguments, each mapped to the argument's name: `{ filePath: 'path' }`. Calls may use the aliases, but
   * models do not see them. The tool receives only the names.
   */
  aliases?: ArgumentAliases | undefined;
  /**
   * Default `policy`. A function decides for each call whether the call needs a user's decision. If the function
   * throws, the call needs a decision.
   */
  approval?:
    | 'never'
    | 'always'
    | 'policy'
    | ((input: ToolInput<Input>, call: ApprovalQuestion) => boolean | Promise<boolean>)
    | undefined;
  /** Default `external`. */
  effect?: ToolEffect | undefined;
  /**
   * Who may call the tool if the model's provider runs code (carrier `hosted`). Default: `both` for reads, `direct` for
   * all other tools, because their calls may wait longer for a user than such code lives.
   */
  callers?: ToolCallers | undefined;
  /**
   * True: the tool itself makes repeated calls with the same `idempotencyKey` harmless. A call that had started when
   * its process ended is then repeated under its old key; otherwise the call rejects as unknown. Default false.
   */
  idempotent?: boolean | undefined;
  /** Returns the subjects that the call touches, for rules to match on. */
  permissions?: ((input: ToolInput<Input>) => readonly string[]) | undefined;
  /** Returns the text that a deciding user reads instead of the arguments. */
  preview?: ((input: ToolInput<Input>, scope: ToolCallScope) => string | Promise<string>) | undefined;
  /**
   * Returns the stored texts to which the input refers, by names for a user, such as `{ 'the file "notes"': text }`. An
   * approval covers these texts: if one has changed before the call is executed, the user is asked again.
   */
  references?:
    | ((
        input: ToolInput<Input>,
        scope: ToolCallScope,
      ) => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>)
    | undefined;
  /**
   * Identifies the code of the tool, such as its version. A suspended approval of a tool with another source is asked
   * again.
   */
  source?: string | undefined;
  /** See `Tool.previewLength`. Default 4000. */
  previewLength?: number | undefined;
  /**
   * Returns the input with exact versions of the things to which it refers. Called before anybody decides about the
   * call: the decision, the rules and `execute` get this input. A throw ends the call.
   */
  pin?: ((input: ToolInput<Input>, scope: ToolCallScope) => ToolInput<Input> | Promise<ToolInput<Input>>) | undefined;
  /** The result is the work plan, `{ plan: [{ step, status }], explanation? }`, and is shown as a plan. */
  shows?: 'plan' | undefined;
  /** A call runs a saved script; see `Tool.savedScript`. */
  savedScript?: FindSavedScript | undefined;
  /** `untrusted`: the results are text of unknown authors, such as web pages and mails. Default `trusted`. */
  trust?: Trust | undefined;
  /**
   * Labels parts of a result, such as the body of each mail. Labelled parts are untrusted by default; for the other
   * parts `trust` holds.
   */
  labels?: ((result: ToolOutput<Output>) => readonly ResultLabel[]) | undefined;
  /**
   * Guards the destinations of the tool: if untrusted text may have chosen one, a user must decide about the call,
   * whatever the approval policy says.
   */
  flow?: ToolFlow | undefined;
  /** Runs the call. Only the message of a thrown error reaches the script; a `ToolCallError` also carries data. */
  execute: (input: ToolInput<Input>, context: ToolCallContext) => ToolResult<Output> | Promise<ToolResult<Output>>;
  /**
   * Undoes a completed call, after a user has agreed. `harness.revert` and `toolscript undo` undo the newest call
   * first. `output` is the result as the script received it. `context.idempotencyKey` differs from that of the call. A
   * throw means that the call is not undone. Default: the calls of the tool cannot be undone.
   */
  revert?: ((input: ToolInput<Input>, output: ToolOutput<Output>, context: ToolCallContext) => unknown) | undefined;
}

/** The result of a call as scripts receive it. */
export type ToolOutput<Output> = Output extends AnyZodSchema
  ? Output['_zod']['output']
  : Output extends StandardSchema<infer _Sent, infer Read>
    ? Read
    : unknown;

/** The caller of a tool, for a tool's own `approval` function. */
export interface ApprovalQuestion {
  tool: string;
  principal: string | undefined;
  app: unknown;
}

/**
 * A tool, with a sentence for each constraint of its schemas that is not checked, and each default that is not applied.
 */
export interface DefinedTool extends Tool {
  readonly notes: readonly string[];
}

/** Options of `defineTool` for the author of many tools, such as an MCP client. */
export interface DefineToolOptions {
  /** Permits a namespace that is otherwise reserved; names then have the form `mcp.SERVER.TOOL`. */
  namespace?: 'mcp' | undefined;
  /**
   * True: a part of a JSON Schema that is not valid JSON Schema is not checked, and is declared as unknown; `notes` names
   * it. Default: such a schema is an error.
   */
  skipFlaws?: boolean | undefined;
}

/**
 * Checks a definition and creates a frozen tool from it. Throws a `ToolscriptUsageError` for an invalid definition,
 * such as one with an unknown member or with a schema that JSON cannot represent.
 *
 * @example
 *
 * ```ts
 * const deleteFile = defineTool({
 *   name: 'deleteFile',
 *   description: 'Deletes a file of the workspace.',
 *   input: z.object({ path: z.string() }),
 *   effect: 'write',
 *   approval: 'always',
 *   permissions: ({ path }) => [`file:${path}`],
 *   preview: ({ path }) => `delete ${path}`,
 *   async execute({ path }, { signal }) {
 *     signal.throwIfAborted();
 *     await rm(path);
 *     return { deleted: path };
 *   },
 * });
 * ```
 */
export function defineTool<
  Input extends ToolSchema | undefined = undefined,
  Output extends ToolSchema | undefined = undefined,
>(definition: ToolDefinition<Input, Output>, options: DefineToolOptions = {}): DefinedTool {
  assertDefinition(definition);
  assertToolName(definition.name, options.namespace);
  assertMembers(definition as unknown as Record<string, unknown>, definition.name);
  const input = compileInput(definition, options);
  const output = compileOutput(definition, options);
  const aliases = readAliases(definition.aliases, `the tool "${definition.name}"`, input.jsonSchema);
  const validateInput = nullsAsAbsent(input.jsonSchema, input.validate);
  return Object.freeze({
    name: definition.name,
    description: definition.description,
    inputSchema: deepFreeze(input.jsonSchema),
    outputSchema: output && deepFreeze(output.jsonSchema),
    approval: definition.approval ?? 'policy',
    effect: definition.effect ?? 'external',
    callers: definition.callers,
    idempotent: definition.idempotent ?? false,
    aliases,
    validateInput: (value: unknown) => {
      const renamed = withoutAliases(value === undefined ? {} : value, aliases);
      return renamed.issues.length > 0 ? { ok: false, issues: renamed.issues } : validateInput(renamed.value);
    },
    validateOutput: output?.validate ?? acceptAnything.validate,
    permissions: definition.permissions,
    preview: definition.preview,
    previewLength: definition.previewLength,
    references: definition.references,
    source: definition.source,
    pin: definition.pin,
    shows: definition.shows,
    savedScript: definition.savedScript,
    trust: definition.trust ?? 'trusted',
    labels: definition.labels as never,
    flow: readFlow(definition.flow, `The tool "${definition.name}"`, input.jsonSchema),
    // A call may have been suspended before a name became an alias.
    execute: (value: unknown, context: ToolCallContext) =>
      definition.execute(withoutAliases(value, aliases).value as never, context),
    revert: definition.revert && revertWithoutAliases(definition.revert as never, aliases),
    notes: Object.freeze([...input.notes, ...(output?.notes ?? [])]),
  }) as unknown as DefinedTool;
}

function revertWithoutAliases(
  revert: NonNullable<Tool['revert']>,
  aliases: Tool['aliases'],
): NonNullable<Tool['revert']> {
  return (input, output, context) => revert(withoutAliases(input, aliases ?? {}).value as never, output, context);
}

const MEMBERS = [
  'name',
  'description',
  'input',
  'inputSchema',
  'output',
  'outputSchema',
  'aliases',
  'approval',
  'effect',
  'callers',
  'idempotent',
  'permissions',
  'preview',
  'previewLength',
  'references',
  'source',
  'pin',
  'shows',
  'savedScript',
  'trust',
  'labels',
  'flow',
  'execute',
  'revert',
];
const APPROVALS: readonly unknown[] = ['never', 'always', 'policy'];
const CALLERS: readonly unknown[] = ['direct', 'code', 'both'];
const EFFECTS: readonly unknown[] = ['read', 'write', 'external'];

const NO_ARGUMENTS = { type: 'object', properties: {}, additionalProperties: false };
const acceptAnything = compileJsonSchema({}, 'output', 'The schema of any result');

function compileInput(
  definition: ToolDefinition<ToolSchema | undefined, ToolSchema | undefined>,
  { skipFlaws }: DefineToolOptions,
): CompiledSchema {
  const where = `The input of the tool "${definition.name}"`;
  refuseBoth(definition.name, 'input', definition.input, 'inputSchema', definition.inputSchema);
  if (definition.input === undefined)
    return compileJsonSchema(definition.inputSchema ?? NO_ARGUMENTS, 'input', where, skipFlaws);
  const compiled = compileSchema(definition.input, 'input', where);
  const type = compiled.jsonSchema['type'];
  if (type !== undefined && type !== 'object') {
    throw new ToolscriptUsageError('TOOL_INPUT_NOT_AN_OBJECT', { where, kind: 'an object (z.object({…}))' });
  }
  return { ...compiled, jsonSchema: { type: 'object', ...compiled.jsonSchema } };
}

function compileOutput(
  definition: ToolDefinition<ToolSchema | undefined, ToolSchema | undefined>,
  { skipFlaws }: DefineToolOptions,
): CompiledSchema | undefined {
  const where = `The output of the tool "${definition.name}"`;
  refuseBoth(definition.name, 'output', definition.output, 'outputSchema', definition.outputSchema);
  if (definition.output === undefined) {
    return definition.outputSchema === undefined
      ? undefined
      : compileJsonSchema(definition.outputSchema, 'output', where, skipFlaws);
  }
  return compileSchema(definition.output, 'output', where);
}

function compileSchema(schema: ToolSchema, member: 'input' | 'output', where: string): CompiledSchema {
  if (isZodSchema(schema)) return compileZodSchema(schema, member, where);
  const kind = standardKind(schema);
  if (kind === 'complete') return compileStandardSchema(schema as StandardSchema, member, where);
  if (kind === 'partial') throw new ToolscriptUsageError('SCHEMA_WITHOUT_JSON_SCHEMA', { where });
  throw new ToolscriptUsageError('SCHEMA_UNKNOWN', { where, member });
}

function assertDefinition(definition: unknown): void {
  if (typeof definition === 'object' && definition !== null) return;
  throw new ToolscriptUsageError('ARGUMENT_INVALID', {
    method: 'defineTool',
    expected: 'an object: { name, description, input, execute }',
  });
}

/** The optional members of a definition: their names, their checks and the expected values. */
const MEMBER_RULES: readonly (readonly [string, (value: unknown) => boolean, string])[] = [
  ['idempotent', (value) => typeof value === 'boolean', 'true or false'],
  ['previewLength', (value) => Number.isInteger(value) && Number(value) > 0, 'a whole number of characters above 0'],
  ['shows', (value) => value === 'plan', '"plan", or be omitted'],
  ['approval', (value) => isFunction(value) || APPROVALS.includes(value), '"never", "always", "policy" or a function'],
  ['effect', (value) => EFFECTS.includes(value), '"read", "write" or "external"'],
  ['callers', (value) => CALLERS.includes(value), '"direct", "code" or "both"'],
  ['source', (value) => typeof value === 'string', 'a text'],
  ['trust', (value) => value === 'trusted' || value === 'untrusted', '"trusted" or "untrusted"'],
  ...['labels', 'permissions', 'pin', 'preview', 'references', 'revert', 'savedScript'].map(
    (member) => [member, isFunction, 'a function'] as const,
  ),
];

function assertMembers(definition: Record<string, unknown>, name: string): void {
  const tool = `The tool "${name}"`;
  for (const key of Object.keys(definition)) {
    if (!MEMBERS.includes(key))
      throw new ToolscriptUsageError('UNKNOWN_MEMBER', {
        where: tool,
        member: key,
        advice: didYouMean(key, MEMBERS) || ' Remove it.',
      });
  }
  if (typeof definition['description'] !== 'string')
    throw new ToolscriptUsageError('TOOL_WITHOUT_DESCRIPTION', { tool });
  if (typeof definition['execute'] !== 'function') throw new ToolscriptUsageError('TOOL_WITHOUT_EXECUTE', { tool });
  for (const [member, isValid, expected] of MEMBER_RULES) {
    const value = definition[member];
    if (value === undefined || isValid(value)) continue;
    const place = member === 'approval' || member === 'effect' ? `The ${member}` : `"${member}"`;
    throw new ToolscriptUsageError('TOOL_MEMBER_INVALID', { member: `${place} of ${lower(tool)}`, expected });
  }
}

function refuseBoth(tool: string, first: string, firstValue: unknown, second: string, secondValue: unknown): void {
  if (firstValue === undefined || secondValue === undefined) return;
  throw new ToolscriptUsageError('TOOL_SCHEMA_GIVEN_TWICE', { tool, first, second });
}

function lower(text: string): string {
  return text.replace(/^The/, 'the');
}

/** The namespaces that belong to Toolscript. `http` alone is a tool's name; `http.x` is not. */
const RESERVED_NAMESPACES: readonly string[] = ['mcp', 'spawn', 'http'];
const FORBIDDEN_SEGMENTS: readonly string[] = ['then', '__proto__', 'constructor', 'prototype'];
const SEGMENT = /^[A-Za-z0-9_$-]+$/;
const MAX_SEGMENT_LENGTH = 64;
const MAX_SEGMENTS = 8;

/** Throws a `ToolscriptUsageError` for an invalid tool name. `namespace`: a reserved namespace that is permitted. */
function assertToolName(name: unknown, namespace?: 'mcp'): asserts name is string {
  if (typeof name !== 'string' || name === '') {
    throw new ToolscriptUsageError('TOOL_WITHOUT_NAME');
  }
  const shown = JSON.stringify(name.slice(0, 100));
  const segments = name.split('.');
  if (segments.length > MAX_SEGMENTS) {
    throw new ToolscriptUsageError('TOOL_NAME_TOO_DEEP', { name: shown, most: MAX_SEGMENTS });
  }
  for (const segment of segments) assertSegment(segment, shown);
  const first = segments[0] as string;
  const reserved = RESERVED_NAMESPACES.includes(first) && first !== namespace && name !== 'http';
  if (reserved) {
    throw new ToolscriptUsageError('TOOL_NAME_RESERVED', { name: shown, part: first });
  }
  if (namespace !== undefined && (first !== namespace || segments.length < 3)) {
    throw new ToolscriptUsageError('TOOL_NAME_WITHOUT_SERVER', { name: shown, namespace });
  }
}

function assertSegment(segment: string, shown: string): void {
  if (segment === '') {
    throw new ToolscriptUsageError('TOOL_NAME_PART_EMPTY', { name: shown });
  }
  if (segment.length > MAX_SEGMENT_LENGTH) {
    throw new ToolscriptUsageError('TOOL_NAME_PART_TOO_LONG', { name: shown, most: MAX_SEGMENT_LENGTH });
  }
  if (!SEGMENT.test(segment)) {
    throw new ToolscriptUsageError('TOOL_NAME_CHARACTERS', { name: shown });
  }
  if (FORBIDDEN_SEGMENTS.includes(segment)) {
    throw new ToolscriptUsageError('TOOL_NAME_RESERVED', { name: shown, part: segment });
  }
}

function isFunction(value: unknown): boolean {
  return typeof value === 'function';
}
