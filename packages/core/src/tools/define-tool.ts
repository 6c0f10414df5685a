import { ToolscriptUsageError } from '../protocol/errors.js';
import type { FindSavedScript } from '../protocol/saved-script.js';
import type { Tool, ToolCallContext, ToolCallers, ToolCallScope, ToolEffect } from '../protocol/tools.js';
import { deepFreeze } from '../protocol/json.js';
import { didYouMean } from '../text/nearest-names.js';
import { nullsAsAbsent, readOldNames, withNewNames, type OldNames } from './accepted-arguments.js';
import { compileJsonSchema } from './json-schema.js';
import { compileStandardSchema, standardKind, type StandardSchema } from './standard-schema.js';
import { compileZodSchema, isZodSchema, type CompiledSchema } from './zod-schema.js';

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

export interface ToolDefinition<Input extends ToolSchema | undefined, Output extends ToolSchema | undefined> {
  /** The name consists of letters, digits, `_`, `$` and `-`; dots make namespaces. */
  name: string;
  /** The description for the model. Short listings show only its first sentence. */
  description: string;
  /**
   * Schema of an object: zod 4, or Standard Schema with a JSON Schema. A tool without this schema and without
   * `inputSchema` takes no arguments.
   */
  input?: Input;
  /** JSON Schema of an object (2020-12, or an older draft). */
  inputSchema?: object;
  /** Schema of the result, as for `input`; it makes the script's types exact. */
  output?: Output;
  /** JSON Schema of the result. */
  outputSchema?: object;
  /**
   * Former argument names, each mapped to its current name: `{ filePath: 'path' }`. Calls may use the former names, but
   * models do not see them. The tool receives only the current names.
   */
  oldNames?: OldNames;
  /**
   * Default `policy`. A function decides for each call whether the call needs a user's decision. If the function
   * throws, the call needs a decision.
   */
  approval?:
    | 'never'
    | 'always'
    | 'policy'
    | ((input: ToolInput<Input>, call: ApprovalQuestion) => boolean | Promise<boolean>);
  /** Default `external`. */
  effect?: ToolEffect;
  /**
   * Who may call the tool if the model's provider runs code (carrier `hosted`). Default: `both` for reads, `direct` for
   * all other tools, because their calls may wait longer for a user than such code lives.
   */
  callers?: ToolCallers;
  /**
   * True: the tool itself makes repeated calls with the same `idempotencyKey` harmless. A call that had started when
   * its process ended is then repeated under its old key; otherwise the call rejects as unknown. Default false.
   */
  idempotent?: boolean;
  /** Returns the subjects that the call touches, for rules to match on. */
  permissions?: (input: ToolInput<Input>) => readonly string[];
  /** Returns the text that a deciding user reads instead of the arguments. */
  preview?: (input: ToolInput<Input>, scope: ToolCallScope) => string | Promise<string>;
  /** See `Tool.previewLength`. Default 4000. */
  previewLength?: number;
  /**
   * Returns the input with exact versions of the things to which it refers. Called before anybody decides about the
   * call: the decision, the rules and `execute` get this input. A throw ends the call.
   */
  pin?: (input: ToolInput<Input>, scope: ToolCallScope) => ToolInput<Input> | Promise<ToolInput<Input>>;
  /** The result is the work plan, `{ plan: [{ step, status }], explanation? }`, and is shown as a plan. */
  shows?: 'plan';
  /** A call runs a saved script; see `Tool.savedScript`. */
  savedScript?: FindSavedScript;
  /** Runs the call. Only the message of a thrown error reaches the script; a `ToolCallError` also carries data. */
  execute: (input: ToolInput<Input>, context: ToolCallContext) => ToolResult<Output> | Promise<ToolResult<Output>>;
  /**
   * Undoes a completed call, after a user has agreed. `harness.revert` and `toolscript undo` undo the newest call
   * first. `output` is the result as the script received it. `context.idempotencyKey` differs from that of the call. A
   * throw means that the call is not undone. Default: the calls of the tool cannot be undone.
   */
  revert?: (input: ToolInput<Input>, output: ToolOutput<Output>, context: ToolCallContext) => unknown;
}

/** The result of a call as scripts receive it. */
export type ToolOutput<Output> = Output extends AnyZodSchema
  ? Output['_zod']['output']
  : Output extends StandardSchema<infer _Sent, infer Read>
    ? Read
    : unknown;

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

export interface DefineToolOptions {
  /** Permits a namespace that is otherwise reserved; names then have the form `mcp.SERVER.TOOL`. */
  namespace?: 'mcp';
}

/**
 * Checks a definition and creates a frozen tool from it. Throws a `ToolscriptUsageError` for an invalid definition,
 * such as one with an unknown member or with a schema that JSON cannot represent.
 */
export function defineTool<
  Input extends ToolSchema | undefined = undefined,
  Output extends ToolSchema | undefined = undefined,
>(definition: ToolDefinition<Input, Output>, options: DefineToolOptions = {}): DefinedTool {
  assertDefinition(definition);
  assertToolName(definition.name, options.namespace);
  assertMembers(definition as unknown as Record<string, unknown>, definition.name);
  const input = compileInput(definition);
  const output = compileOutput(definition);
  const oldNames = readOldNames(definition.oldNames, `the tool "${definition.name}"`, input.jsonSchema);
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
    oldNames,
    validateInput: (value: unknown) => {
      const renamed = withNewNames(value === undefined ? {} : value, oldNames);
      return renamed.issues.length > 0 ? { ok: false, issues: renamed.issues } : validateInput(renamed.value);
    },
    validateOutput: output?.validate ?? acceptAnything.validate,
    permissions: definition.permissions,
    preview: definition.preview,
    previewLength: definition.previewLength,
    pin: definition.pin,
    shows: definition.shows,
    savedScript: definition.savedScript,
    // A call with the former names may have been suspended.
    execute: (value: unknown, context: ToolCallContext) =>
      definition.execute(withNewNames(value, oldNames).value as never, context),
    revert: definition.revert && revertOf(definition.revert as never, oldNames),
    notes: Object.freeze([...input.notes, ...(output?.notes ?? [])]),
  }) as unknown as DefinedTool;
}

function revertOf(revert: NonNullable<Tool['revert']>, oldNames: Tool['oldNames']): NonNullable<Tool['revert']> {
  return (input, output, context) => revert(withNewNames(input, oldNames ?? {}).value as never, output, context);
}

const MEMBERS = [
  'name',
  'description',
  'input',
  'inputSchema',
  'output',
  'outputSchema',
  'oldNames',
  'approval',
  'effect',
  'callers',
  'idempotent',
  'permissions',
  'preview',
  'previewLength',
  'pin',
  'shows',
  'savedScript',
  'execute',
  'revert',
];
const APPROVALS: readonly unknown[] = ['never', 'always', 'policy'];
const CALLERS: readonly unknown[] = ['direct', 'code', 'both'];
const EFFECTS: readonly unknown[] = ['read', 'write', 'external'];

const NO_ARGUMENTS = { type: 'object', properties: {}, additionalProperties: false };
const acceptAnything = compileJsonSchema({}, 'output', 'The schema of any result');

function compileInput(definition: ToolDefinition<ToolSchema | undefined, ToolSchema | undefined>): CompiledSchema {
  const where = `The input of the tool "${definition.name}"`;
  refuseBoth(definition.name, 'input', definition.input, 'inputSchema', definition.inputSchema);
  if (definition.input === undefined) return compileJsonSchema(definition.inputSchema ?? NO_ARGUMENTS, 'input', where);
  const compiled = compileSchema(definition.input, 'input', where);
  const type = compiled.jsonSchema['type'];
  if (type !== undefined && type !== 'object') {
    throw new ToolscriptUsageError(
      `${where} must describe an object (z.object({…})), because tools take one object of named arguments.`,
    );
  }
  return { ...compiled, jsonSchema: { type: 'object', ...compiled.jsonSchema } };
}

function compileOutput(
  definition: ToolDefinition<ToolSchema | undefined, ToolSchema | undefined>,
): CompiledSchema | undefined {
  const where = `The output of the tool "${definition.name}"`;
  refuseBoth(definition.name, 'output', definition.output, 'outputSchema', definition.outputSchema);
  if (definition.output === undefined) {
    return definition.outputSchema === undefined
      ? undefined
      : compileJsonSchema(definition.outputSchema, 'output', where);
  }
  return compileSchema(definition.output, 'output', where);
}

function compileSchema(schema: ToolSchema, member: 'input' | 'output', where: string): CompiledSchema {
  if (isZodSchema(schema)) return compileZodSchema(schema, member, where);
  const kind = standardKind(schema);
  if (kind === 'complete') return compileStandardSchema(schema as StandardSchema, member, where);
  throw new ToolscriptUsageError(
    kind === 'partial'
      ? `${where} has no JSON Schema, which models need: its library must implement Standard JSON Schema (zod 4, ArkType from 2.1.28, Valibot with toStandardJsonSchema of @valibot/to-json-schema).`
      : `${where} is not a schema of zod 4 or of Standard Schema; "${member}" takes such a schema, and "${member}Schema" takes a JSON Schema.`,
  );
}

function assertDefinition(definition: unknown): void {
  if (typeof definition === 'object' && definition !== null) return;
  throw new ToolscriptUsageError('defineTool needs an object: { name, description, input, execute }.');
}

function assertMembers(definition: Record<string, unknown>, name: string): void {
  const tool = `The tool "${name}"`;
  for (const key of Object.keys(definition)) {
    if (!MEMBERS.includes(key))
      throw new ToolscriptUsageError(
        `${tool} has an unknown member "${key}".${didYouMean(key, MEMBERS) || ' Remove it.'}`,
      );
  }
  if (typeof definition['description'] !== 'string')
    throw new ToolscriptUsageError(`${tool} needs a description: a string for the model.`);
  if (typeof definition['execute'] !== 'function')
    throw new ToolscriptUsageError(`${tool} needs a function "execute" that runs a call.`);
  const {
    approval,
    effect,
    callers,
    idempotent,
    permissions,
    pin,
    preview,
    previewLength,
    revert,
    shows,
    savedScript,
  } = definition;
  if (idempotent !== undefined && typeof idempotent !== 'boolean')
    throw new ToolscriptUsageError(`"idempotent" of ${lower(tool)} must be true or false.`);
  if (previewLength !== undefined && !(Number.isInteger(previewLength) && Number(previewLength) > 0))
    throw new ToolscriptUsageError(`"previewLength" of ${lower(tool)} must be a whole number of characters above 0.`);
  if (shows !== undefined && shows !== 'plan')
    throw new ToolscriptUsageError(`"shows" of ${lower(tool)} must be "plan", or be omitted.`);
  if (approval !== undefined && typeof approval !== 'function' && !APPROVALS.includes(approval)) {
    throw new ToolscriptUsageError(`The approval of ${lower(tool)} must be "never", "always", "policy" or a function.`);
  }
  if (effect !== undefined && !EFFECTS.includes(effect)) {
    throw new ToolscriptUsageError(`The effect of ${lower(tool)} must be "read", "write" or "external".`);
  }
  if (callers !== undefined && !CALLERS.includes(callers))
    throw new ToolscriptUsageError(`"callers" of ${lower(tool)} must be "direct", "code" or "both".`);
  for (const [key, value] of Object.entries({ permissions, pin, preview, revert, savedScript })) {
    if (value !== undefined && typeof value !== 'function')
      throw new ToolscriptUsageError(`"${key}" of ${lower(tool)} must be a function.`);
  }
}

function refuseBoth(tool: string, first: string, firstValue: unknown, second: string, secondValue: unknown): void {
  if (firstValue === undefined || secondValue === undefined) return;
  throw new ToolscriptUsageError(`The tool "${tool}" has both "${first}" and "${second}"; give one of them.`);
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
    throw new ToolscriptUsageError('A tool needs a name: a non-empty string.');
  }
  const shown = JSON.stringify(name.slice(0, 100));
  const segments = name.split('.');
  if (segments.length > MAX_SEGMENTS) {
    throw new ToolscriptUsageError(`The tool name ${shown} has more than ${MAX_SEGMENTS} parts. Use fewer.`);
  }
  for (const segment of segments) assertSegment(segment, shown);
  const first = segments[0] as string;
  const reserved = RESERVED_NAMESPACES.includes(first) && first !== namespace && name !== 'http';
  if (reserved) {
    throw new ToolscriptUsageError(
      `The tool name ${shown} starts with "${first}", which is reserved; choose another name.`,
    );
  }
  if (namespace !== undefined && (first !== namespace || segments.length < 3)) {
    throw new ToolscriptUsageError(`The tool name ${shown} must have the form ${namespace}.SERVER.TOOL.`);
  }
}

function assertSegment(segment: string, shown: string): void {
  if (segment === '') {
    throw new ToolscriptUsageError(
      `The tool name ${shown} has an empty part; write names like "readFile" or "prompts.save".`,
    );
  }
  if (segment.length > MAX_SEGMENT_LENGTH) {
    throw new ToolscriptUsageError(
      `A part of the tool name ${shown} is longer than ${MAX_SEGMENT_LENGTH} characters. Use a shorter name.`,
    );
  }
  if (!SEGMENT.test(segment)) {
    throw new ToolscriptUsageError(
      `The tool name ${shown} has characters other than letters, digits, "_", "$" and "-". Rename the tool.`,
    );
  }
  if (FORBIDDEN_SEGMENTS.includes(segment)) {
    throw new ToolscriptUsageError(`The tool name ${shown} uses "${segment}", which is reserved; choose another name.`);
  }
}
