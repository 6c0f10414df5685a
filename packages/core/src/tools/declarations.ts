import { CATCHABLE_CODES } from '../protocol/errors.js';
import type { JsonObject } from '../protocol/json.js';
import type { ToolParameter } from '../protocol/tool-parameter.js';
import type { Tool } from '../protocol/tools.js';
import { schemaTree } from '../schema/read-schema.js';
import { identifierName } from '../text/identifier-name.js';
import {
  docText,
  isPlainObjectSchema,
  joinUnion,
  propertyName,
  SchemaTypeWriter,
  type TypeStyle,
} from '../schema/schema-types.js';

/**
 * The detail of declarations, from most to least. `full`: with the docs of tools and members. `types`: without the
 * members' docs. `signatures`: one line for each tool, with nested objects abbreviated. `names`: only comments, each
 * with a tool's name and first sentence.
 */
export type DeclarationDetail = 'full' | 'types' | 'signatures' | 'names';

export interface DeclarationOptions {
  /** Default `full`. */
  detail?: DeclarationDetail | undefined;
  /** Declares members that may be absent (`tools.spawn?`, `tools.http?`, `tools.mcp?`) as optional. Default false. */
  optionalMembers?: boolean | undefined;
  /** Whether `tools.spawn` exists. Default false. */
  spawn?: boolean | undefined;
  /**
   * Also declares members that are accepted or returned but hidden from models: for the type checker. Default false.
   */
  everything?: boolean | undefined;
  /** Returns the type that the results of a tool without an output schema had. Default: such results are `any`. */
  resultType?: ResultType | undefined;
}

/** Returns the observed type of a tool's results, on one line; undefined if it is not known. */
export type ResultType = (tool: Tool, depth?: number) => string | undefined;

/** The declaration of one tool, as lines without outer indentation. */
export interface ToolDeclaration {
  readonly tool: Tool;
  readonly detail: DeclarationDetail;
  /** Named types that the member needs. */
  readonly definitions: readonly string[];
  readonly member: readonly string[];
}

/** Returns the declaration of one tool: the types that the tool needs, then `interface Tools` with only this tool. */
export function declarationFor(tool: Tool, resultType?: ResultType): string {
  return declarationsFor([tool], { resultType });
}

/**
 * Returns the declaration of one tool on one line, as a script writes the call: `tools.readFile(args: { … }): Promise<{
 * … }>`. `observed`: the type of the results of a tool without an output schema.
 */
export function toolSignature(tool: Tool, observed?: string): string {
  const writer = new SchemaTypeWriter(typeName(tool.name), { ...STYLES.types, deprecated: false });
  const mark = observed === undefined || tool.outputSchema !== undefined ? '' : OBSERVED;
  return `tools.${identifierName(tool.name)}${signature(tool, writer, { observed })}${mark}`;
}

/**
 * Returns `interface Tools { … }`, with the types that it needs before it. Dotted names become nested members. A name
 * that is not an identifier is declared under its identifier form, with the quoted name as an alias. The model and the
 * type checker can read the same text. The detail `names` declares nothing and is only for models.
 */
export function declarationsFor(tools: readonly Tool[], options: DeclarationOptions = {}): string {
  const detail = options.detail ?? 'full';
  if (detail === 'names')
    return tools.map((tool) => `// tools.${identifierName(tool.name)}${afterName(tool)}\n`).join('');
  const declare = declarationWriter(tools, options);
  return layOutDeclarations(
    tools.map((tool) => declare(tool, detail)),
    { ...options, aliases: true },
  );
}

/**
 * Returns the type of the tools whose results are observed, on one line, to be intersected with `Tools`; undefined if
 * there are none.
 */
export function observedToolsType(tools: readonly Tool[], resultType: ResultType): string | undefined {
  const types = tools.flatMap((tool) => {
    const result = resultType(tool);
    if (result === undefined) return [];
    const path = identifierName(tool.name).split('.');
    const declared = `Tools${path.map((part) => `["${part}"]`).join('')}`;
    const method = `(...args: Parameters<${declared}>) => Promise<${result}>`;
    return [path.reduceRight((type, part) => `{ ${part}: ${type} }`, method)];
  });
  return types.length === 0 ? undefined : types.join(' & ');
}

/**
 * Returns the type of the handle of a tool's result that is too large for a script. `at`: the names of the members that
 * lead to its rows.
 */
export function largeResultType(tool: Tool | undefined, at: readonly string[]): string {
  if (tool?.outputSchema === undefined) return 'LargeResult<any>';
  const rows = rowSchema(tool.outputSchema, at);
  const { types, definitions } = typesOfSchemas('Large', [tool.outputSchema, rows]);
  // A type with names of its own cannot be written as a type of a variable.
  return definitions === '' ? `LargeResult<${types.join(', ')}>` : 'LargeResult<any>';
}

/** The schema of one row; without information if the path leads through more than plain lists and members. */
function rowSchema(schema: JsonObject, at: readonly string[]): JsonObject {
  let found: unknown = schema;
  for (const key of at) {
    const { properties, items } = (found ?? {}) as { properties?: Record<string, unknown>; items?: unknown };
    found = properties === undefined ? items : properties[key];
  }
  const { type, items } = (found ?? {}) as { type?: unknown; items?: unknown };
  return ((type === 'array' ? items : found) ?? {}) as JsonObject;
}

/** Returns a function that declares tools of one set, so that the names of their types differ. */
export function declarationWriter(
  tools: readonly Tool[],
  options: Pick<DeclarationOptions, 'everything' | 'resultType'> = {},
): (tool: Tool, detail: DeclarationDetail) => ToolDeclaration {
  const prefixes = typePrefixes(tools);
  return (tool, detail) => declareTool(tool, detail, prefixes.get(tool) ?? typeName(tool.name), options);
}

export interface LayoutOptions extends DeclarationOptions {
  /** Declares quoted names in addition to their identifier forms. Default false. */
  aliases?: boolean | undefined;
  /** Namespaces (identifier form, '' for the root) with the number of their tools that are not declared. */
  missing?: ReadonlyMap<string, number> | undefined;
}

/** Returns the text of `interface Tools`, with the types before it. */
export function layOutDeclarations(declarations: readonly ToolDeclaration[], options: LayoutOptions = {}): string {
  const root = newNamespace('');
  for (const declaration of declarations) addMember(root, declaration);
  for (const [path, count] of options.missing ?? []) namespaceAt(root, path).missing = count;
  const members = [...namespaceLines(root, options.aliases === true), ...reservedMembers(root, options)];
  const definitions = declarations.flatMap((declaration) => declaration.definitions);
  return [...definitions, 'interface Tools {', ...indentedLines(members), '}', ''].join('\n');
}

/** Returns the line that replaces the undeclared tools of a namespace. */
export function missingLine(count: number): string {
  return `// … ${count} more`;
}

/** Returns the line for a namespace without declared tools. */
export function namespaceLine(name: string, count: number): string {
  return `// ${name}: ${count} tools`;
}

/** Returns the parts of a tool's namespace in identifier form; empty for the root. */
export function toolNamespace(tool: Tool): string[] {
  return identifierName(tool.name).split('.').slice(0, -1);
}

const STYLES = {
  full: { memberDocs: true, maxDepth: Infinity, oneLine: false },
  types: { memberDocs: false, maxDepth: Infinity, oneLine: true },
  signatures: { memberDocs: false, maxDepth: 1, oneLine: true },
} satisfies Record<Exclude<DeclarationDetail, 'names'>, Omit<TypeStyle, 'deprecated'>>;

/** Returns the types of JSON Schemas, and the named types that they need, each without line breaks. */
export function typesOfSchemas(
  prefix: string,
  schemas: readonly JsonObject[],
): { readonly types: readonly string[]; readonly definitions: string } {
  const writer = new SchemaTypeWriter(prefix, { ...STYLES.types, deprecated: true });
  const types = schemas.map((schema, index) => oneLine(writer.write(schema, 'any', index === 0 ? '' : 'Result')));
  return { types, definitions: oneLine(writer.definitions.join(' ')) };
}

function oneLine(text: string): string {
  return text.replaceAll(/[\r\n\u2028\u2029]+/gu, ' ');
}

const MAX_TOOL_DOC = 1_000;

interface Namespace {
  /** The path of the namespace in identifier form, with dots. */
  readonly path: string;
  readonly members: Map<string, ToolDeclaration>;
  readonly namespaces: Map<string, Namespace>;
  /**
   * Parts of tool names in this namespace that are not identifiers. Each part maps to the identifier forms of the parts
   * that follow it in tool names; '' if no part follows.
   */
  readonly givenNames: Map<string, Set<string>>;
  missing: number;
}

function newNamespace(path: string): Namespace {
  return { path, members: new Map(), namespaces: new Map(), givenNames: new Map(), missing: 0 };
}

function declareTool(
  tool: Tool,
  detail: DeclarationDetail,
  prefix: string,
  { everything = false, resultType }: Pick<DeclarationOptions, 'everything' | 'resultType'>,
): ToolDeclaration {
  const name = lastPart(identifierName(tool.name));
  if (detail === 'names') return { tool, detail, definitions: [], member: [`// ${name}${afterName(tool)}`] };
  const writer = new SchemaTypeWriter(prefix, { ...STYLES[detail], deprecated: everything });
  const doc = detail === 'signatures' ? [] : toolDoc(tool.description);
  const observed = resultType?.(tool, STYLES[detail].maxDepth);
  const declared = `${name}${signature(tool, writer, { everything, observed })};${observed === undefined ? '' : OBSERVED}`;
  const member = [...doc, ...declared.split('\n')];
  return { tool, detail, definitions: writer.definitions.flatMap((definition) => definition.split('\n')), member };
}

/** Follows the declaration of a tool whose type of results is observed. */
const OBSERVED = ' // the result: observed, not promised';

function signature(
  tool: Tool,
  writer: SchemaTypeWriter,
  { everything = false, observed = 'any' }: { everything?: boolean; observed?: string | undefined } = {},
): string {
  const args = argumentSchemas(tool, everything).map((schema) => writer.write(schema, 'unknown'));
  const result = tool.outputSchema === undefined ? observed : writer.write(tool.outputSchema, 'any', 'Result');
  return `(args${needsArguments(tool) ? '' : '?'}: ${joinUnion(args)}): Promise<${result}>`;
}

/**
 * Returns the schemas of a tool's arguments. With `everything`, there is one schema for each way to write the required
 * arguments by names and aliases.
 */
function argumentSchemas({ inputSchema, aliases }: Tool, everything: boolean): JsonObject[] {
  if (!everything || aliases === undefined) return [inputSchema];
  const entries = Object.entries(aliases);
  const { root } = schemaTree(inputSchema);
  const { required } = root;
  const ways = namings(required, entries);
  if (!isPlainObjectSchema(root) || ways === undefined) return [inputSchema, ANY_ARGUMENTS];
  const properties = inputSchema['properties'] as JsonObject;
  const optional = entries.filter(([, name]) => !required.includes(name));
  const others = optional.map(([alias, name]) => [alias, properties[name]]);
  const accepted = { ...properties, ...(Object.fromEntries(others) as JsonObject) };
  return ways.map((naming) => {
    const written = (name: string): string => naming.get(name) ?? name;
    return {
      ...inputSchema,
      properties: Object.fromEntries(Object.entries(accepted).map(([name, schema]) => [written(name), schema])),
      required: required.map(written),
    } as JsonObject;
  });
}

/**
 * Accepts any arguments, for a tool whose arguments can be written in too many ways, or whose schema is not a plain
 * list of members. Only the validator then checks the arguments.
 */
const ANY_ARGUMENTS: JsonObject = { type: 'object', additionalProperties: true };

const MAX_NAMINGS = 16;

/**
 * Returns every way to write the required arguments, each by its name or by one of its aliases; undefined
 * if there are too many ways.
 */
function namings(required: readonly string[], aliases: readonly [string, string][]): Map<string, string>[] | undefined {
  let ways = [new Map<string, string>()];
  for (const name of required) {
    const others = aliases.filter(([, target]) => target === name);
    if (ways.length * (1 + others.length) > MAX_NAMINGS) return undefined;
    ways = [...ways, ...others.flatMap(([alias]) => ways.map((way) => new Map(way).set(name, alias)))];
  }
  return ways;
}

/** The parameters of a tool in the order of its schema; undefined if its arguments are not a plain list of members. */
export function toolParameters(tool: Tool | undefined): readonly ToolParameter[] | undefined {
  if (tool === undefined || !isPlainObjectSchema(schemaTree(tool.inputSchema).root)) return undefined;
  const { properties = {}, required } = tool.inputSchema;
  const needed = new Set(Array.isArray(required) ? required : []);
  return Object.keys(properties as JsonObject).map((name) => ({ name, isRequired: needed.has(name) }));
}

/** Whether a call without arguments is invalid. If the schema is not a plain list of members, the validator decides. */
function needsArguments(tool: Tool): boolean {
  const { required, anyOf, oneOf, allOf, reference } = schemaTree(tool.inputSchema).root;
  if (required.length > 0) return true;
  if ((anyOf ?? oneOf ?? allOf ?? reference) === undefined) return false;
  try {
    return !tool.validateInput({}).ok;
  } catch {
    return true;
  }
}

/** Returns a doc comment. The comment keeps the lines of a description, because descriptions show formats in them. */
function toolDoc(description: string): string[] {
  const text = description.trim();
  const kept = text.length > MAX_TOOL_DOC ? `${text.slice(0, MAX_TOOL_DOC)}…` : text;
  const [first = '', ...rest] = kept
    .split(/\r\n|\n|\r/u)
    .map((line) => `${/^ */u.exec(line)?.[0] ?? ''}${docText(line, MAX_TOOL_DOC).replaceAll('*/', '*\\/')}`);
  if (rest.length === 0) return first === '' ? [] : [`/** ${first} */`];
  return ['/**', ...[first, ...rest].map((line) => ` * ${line}`.trimEnd()), ' */'];
}

/** Returns, for each tool, the prefix of the names of its types. */
function typePrefixes(tools: readonly Tool[]): ReadonlyMap<Tool, string> {
  const used = new Set<string>();
  const prefixes = new Map<Tool, string>();
  for (const tool of tools) {
    const base = typeName(tool.name);
    let prefix = base;
    for (let count = 2; used.has(prefix); count++) prefix = `${base}${count}`;
    used.add(prefix);
    prefixes.set(tool, prefix);
  }
  return prefixes;
}

function typeName(name: string): string {
  return identifierName(name)
    .split('.')
    .map((part) => `${part.charAt(0).toUpperCase()}${part.slice(1)}`)
    .join('_');
}

function addMember(root: Namespace, declaration: ToolDeclaration): void {
  const given = declaration.tool.name.split('.');
  const written = identifierName(declaration.tool.name).split('.');
  let namespace = root;
  for (const [index, part] of written.entries()) {
    const name = given[index] as string;
    if (name !== part)
      namespace.givenNames.set(name, (namespace.givenNames.get(name) ?? new Set()).add(written[index + 1] ?? ''));
    if (index < written.length - 1) namespace = innerNamespace(namespace, part);
  }
  namespace.members.set(written.at(-1) as string, declaration);
}

function innerNamespace(parent: Namespace, name: string): Namespace {
  const known = parent.namespaces.get(name);
  if (known !== undefined) return known;
  const made = newNamespace(parent.path === '' ? name : `${parent.path}.${name}`);
  parent.namespaces.set(name, made);
  return made;
}

function namespaceAt(root: Namespace, path: string): Namespace {
  return path === '' ? root : path.split('.').reduce(innerNamespace, root);
}

function namespaceLines(namespace: Namespace, aliases: boolean): string[] {
  const lines = [...namespace.members.values()].flatMap((declaration) => declaration.member);
  for (const [name, inner] of namespace.namespaces) {
    const isEmpty = inner.members.size + inner.namespaces.size === 0;
    if (isEmpty) lines.push(namespaceLine(name, inner.missing));
    else lines.push(`${name}: {`, ...indentedLines(namespaceLines(inner, aliases)), '};');
  }
  if (namespace.missing > 0) lines.push(missingLine(namespace.missing));
  return aliases ? [...lines, ...aliasLines(namespace)] : lines;
}

/**
 * Returns the aliases of a namespace: `"get-user": Tools["get_user"];`. If the namespace has other tools too, the alias
 * has only the members with the given name.
 */
function aliasLines(namespace: Namespace): string[] {
  return [...namespace.givenNames].map(([given, held]) => {
    const name = identifierName(given);
    const path = [...(namespace.path === '' ? [] : namespace.path.split('.')), name];
    const type = `Tools${path.map((part) => `["${part}"]`).join('')}`;
    const inner = namespace.namespaces.get(name);
    const all = inner === undefined || inner.members.size + inner.namespaces.size === held.size;
    return `${propertyName(given)}: ${all ? type : `Pick<${type}, ${pickedNames(inner, held)}>`};`;
  });
}

function pickedNames(namespace: Namespace, held: ReadonlySet<string>): string {
  const given = [...namespace.givenNames.keys()].filter((name) => held.has(identifierName(name)));
  return [...held, ...given].map((name) => `"${name}"`).join(' | ');
}

function indentedLines(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line}`);
}

function reservedMembers(root: Namespace, options: DeclarationOptions): string[] {
  const lines: string[] = [];
  if (options.spawn === true) lines.push('spawn: ToolSpawner;');
  if (options.optionalMembers !== true) return lines;
  if (options.spawn !== true) lines.push('spawn?: undefined;');
  if (!root.members.has('http')) lines.push('http?: undefined;');
  if (!root.namespaces.has('mcp')) lines.push('mcp?: undefined;');
  return lines;
}

function lastPart(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}

function afterName(tool: Tool): string {
  const sentence = firstSentence(tool.description);
  return sentence === '' ? '' : `: ${sentence}`;
}

/** Returns the first sentence of a description, on one line. After 160 characters, an ellipsis replaces the rest. */
export function firstSentence(description: string): string {
  const line = docText(description, 1_000);
  const end = /(?<=[\p{L}\p{N})\]"'`])[.!?](?=\s+\p{Lu}|\s*$)/u.exec(line);
  return docText(end === null ? line : line.slice(0, end.index + 1), 160);
}

const RETRY =
  '/** If `data.status` is "unknown": makes the call again, under its idempotency key. */ retry?(): Promise<any>; ' +
  '/** The result, if it was too large for a script. */ readonly handle?: LargeResult<any>; ';

/**
 * The globals of a script that do not depend on its tools, as TypeScript declarations. Together with
 * `declarationsFor(…)` before it, this text declares everything in a script except the language itself.
 */
export const GUEST_DECLARATIONS = `/** A result that was too large for a script. The host keeps it for 30 days, in pages. */
interface LargeResult<Result, Row = any> extends AsyncIterable<Row> {
  readonly key: string; readonly pages: number; readonly rows: number; readonly bytes: number;
  /** The result with the rows of one page, from 0. It counts as a tool call. */
  page(index: number): Promise<Result>;
}
interface ToolTask { readonly id: string; readonly done: Promise<any>; cancel(): Promise<boolean>; }
interface ToolTaskSummary {
  readonly id: string; readonly tool: string;
  /** \`queued\`: it waits for its turn. \`unknown\`: its process ended before it did. */
  readonly status: 'queued' | 'awaiting_approval' | 'running' | 'completed' | 'failed' | 'cancelled' | 'unknown';
  /** In ms since 1970. */
  readonly startedAtMs: number; readonly durationMs: number;
}
interface ToolTaskReport extends ToolTaskSummary {
  readonly scriptId: string; readonly input: any;
  /** The last 65 536 characters of the tool's output, or of its progress if it has no output. */
  readonly output: string; readonly outputTruncated: boolean;
  readonly result?: any; readonly error?: { readonly code: string; readonly message: string };
}
/** Tasks outlive their script: later scripts find them by their ids. */
interface ToolSpawner {
  exec(name: string, args?: any): ToolTask;
  list(): Promise<ToolTaskSummary[]>;
  /** The current state of a task. */
  read(id: string): Promise<ToolTaskReport>;
  /** Waits for a task to end. */
  wait(id: string): Promise<ToolTaskReport>;
  /** False if the task had ended. */
  cancel(id: string): Promise<boolean>;
}
interface ToolSummary { readonly name: string; readonly description: string; }
interface ToolCatalog {
  /** Finds tools by what they do. */
  search(query: string, options?: { limit?: number }): Promise<ToolSummary[]>;
  /** The declaration of one tool. Without an output schema, the type of its results is that of earlier ones, marked as observed. */
  describe(name: string): Promise<string>;
  list(namespace?: string): Promise<ToolSummary[]>;
}
interface ScriptContext {
  readonly conversationId?: string; readonly sessionId?: string; readonly turnId?: string; readonly scriptId: string;
  readonly workingDirectory?: string; readonly provider?: string; readonly model?: string;
  /** As they were when the script started; they do not change while it runs. */
  readonly sandbox: {
    readonly timeoutMs: number; readonly memoryMb: number;
    /** The tool calls that this script may make in all. */
    readonly remainingToolBudget: number;
    readonly maxConcurrentToolCalls: number; readonly mode: string;
  };
  readonly capabilities: { readonly tools: readonly string[] };
  readonly approvals: { readonly required: boolean; readonly lastRequestId?: string };
  readonly telemetry: { emitProgress(message: string, kind?: 'info' | 'warn'): void };
  emitProgress(message: string, kind?: 'info' | 'warn'): void;
  readonly [key: string]: any;
}
declare const tools: Tools;
declare const catalog: ToolCatalog;
declare const context: ScriptContext;
/** Appends to what the user is shown. */
declare function text(value: any): void;
declare function emit(value: any): void;
/** Counts against the script's wall clock. */
declare function sleep(ms: number): Promise<void>;
${CATCHABLE_CODES.map((code) => `declare class ${code} extends Error { readonly code: '${code}'; readonly data?: any; ${code === 'ToolExecutionError' ? RETRY : ''}}\n`).join('')}`;
