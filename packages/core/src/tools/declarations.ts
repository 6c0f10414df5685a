import type { Tool } from '../protocol/tools.js';
import { docText, SchemaTypeWriter, type TypeStyle } from './schema-types.js';
import { identifierName } from './tool-names.js';

/**
 * How much the declarations tell, from most to least: `full` with the docs of tools and members; `types`
 * without the members' docs; `signatures` one line a tool, nested objects only hinted at; `names` with each
 * tool's first sentence, as comments.
 */
export type DeclarationDetail = 'full' | 'types' | 'signatures' | 'names';

export interface DeclarationOptions {
  /** Default `full`. */
  detail?: DeclarationDetail;
  /** Declares what may be absent (`tools.spawn?`, `tools.http?`, `tools.mcp?`) as optional. Default false. */
  optionalMembers?: boolean;
  /** `tools.spawn` exists. Default false. */
  spawn?: boolean;
}

/** One tool's declaration: the types it needs, then `interface Tools` with that tool alone. */
export function declarationFor(tool: Tool, detail: DeclarationDetail = 'full'): string {
  return declarationsFor([tool], { detail });
}

/** One tool's declaration on one line, as a script writes the call: `tools.readFile(args: { … }): Promise<{ … }>`. */
export function signatureOf(tool: Tool): string {
  return `tools.${identifierName(tool.name)}${signature(tool, 'types', '', [])}`;
}

/**
 * `interface Tools { … }` with what it needs before it. Dotted names become nested members; a name that is
 * no identifier is declared under its identifier form. The same text serves the model and the type checker
 * (`names` is for reading only).
 */
export function declarationsFor(tools: readonly Tool[], options: DeclarationOptions = {}): string {
  const detail = options.detail ?? 'full';
  if (detail === 'names') return tools.map(nameLine).join('');
  const definitions: string[] = [];
  const root = newNamespace();
  for (const tool of tools) addTool(root, tool, detail, definitions);
  const members = [...namespaceLines(root, '  '), ...reservedMembers(root, options)];
  const types = definitions.length === 0 ? '' : `${definitions.join('\n')}\n`;
  return `${types}interface Tools {\n${members.map((line) => `${line}\n`).join('')}}\n`;
}

const STYLES: Readonly<Record<Exclude<DeclarationDetail, 'names'>, TypeStyle>> = {
  full: { memberDocs: true, maxDepth: Infinity, oneLine: false },
  types: { memberDocs: false, maxDepth: Infinity, oneLine: true },
  signatures: { memberDocs: false, maxDepth: 1, oneLine: true },
};

const MAX_TOOL_DOC = 1_000;

interface Namespace {
  readonly members: Map<string, string[]>;
  readonly namespaces: Map<string, Namespace>;
}

function newNamespace(): Namespace {
  return { members: new Map(), namespaces: new Map() };
}

function addTool(
  root: Namespace,
  tool: Tool,
  detail: Exclude<DeclarationDetail, 'names'>,
  definitions: string[],
): void {
  const path = identifierName(tool.name).split('.');
  const name = path.pop() as string;
  let namespace = root;
  for (const part of path) namespace = namespaceOf(namespace, part);
  const indent = '  '.repeat(path.length + 1);
  const lines: string[] = [];
  if (detail !== 'signatures') lines.push(...toolDoc(tool.description, indent));
  lines.push(`${indent}${name}${signature(tool, detail, indent, definitions)};`);
  namespace.members.set(name, lines);
}

function namespaceOf(parent: Namespace, name: string): Namespace {
  const known = parent.namespaces.get(name);
  if (known !== undefined) return known;
  const made = newNamespace();
  parent.namespaces.set(name, made);
  return made;
}

function signature(
  tool: Tool,
  detail: Exclude<DeclarationDetail, 'names'>,
  indent: string,
  definitions: string[],
): string {
  const prefix = typeName(tool.name);
  const input = new SchemaTypeWriter(prefix, STYLES[detail]);
  const args = input.write(tool.inputSchema, 'unknown', indent);
  const output = new SchemaTypeWriter(`${prefix}_Result`, STYLES[detail]);
  const result = tool.outputSchema === undefined ? 'any' : output.write(tool.outputSchema, 'any', indent);
  definitions.push(...input.definitions, ...output.definitions);
  const takesNothing = args === '{}' || args === 'Record<string, unknown>';
  return `(args${takesNothing || !needsArguments(tool) ? '?' : ''}: ${args}): Promise<${result}>`;
}

function needsArguments(tool: Tool): boolean {
  const { required, anyOf, oneOf, allOf, $ref } = tool.inputSchema;
  if (Array.isArray(required) && required.length > 0) return true;
  return anyOf !== undefined || oneOf !== undefined || allOf !== undefined || $ref !== undefined;
}

/** A doc comment; the lines of a description are kept, because formats are shown in them. */
function toolDoc(description: string, indent: string): string[] {
  const text = description.trim();
  const kept = text.length > MAX_TOOL_DOC ? `${text.slice(0, MAX_TOOL_DOC)}…` : text;
  const [first = '', ...rest] = kept
    .split(/\r\n|\n|\r/u)
    .map((line) => `${/^ */u.exec(line)?.[0] ?? ''}${docText(line, MAX_TOOL_DOC)}`);
  if (rest.length === 0) return first === '' ? [] : [`${indent}/** ${first} */`];
  return [`${indent}/**`, ...[first, ...rest].map((line) => `${indent} * ${line}`.trimEnd()), `${indent} */`];
}

function typeName(name: string): string {
  return identifierName(name)
    .split('.')
    .map((part) => `${part.charAt(0).toUpperCase()}${part.slice(1)}`)
    .join('_');
}

function namespaceLines(namespace: Namespace, indent: string): string[] {
  const lines = [...namespace.members.values()].flat();
  for (const [name, inner] of namespace.namespaces) {
    lines.push(`${indent}${name}: {`, ...namespaceLines(inner, `${indent}  `), `${indent}};`);
  }
  return lines;
}

function reservedMembers(root: Namespace, options: DeclarationOptions): string[] {
  const lines: string[] = [];
  if (options.spawn === true) lines.push('  spawn: ToolSpawner;');
  if (options.optionalMembers !== true) return lines;
  if (options.spawn !== true) lines.push('  spawn?: ToolSpawner;');
  if (!root.members.has('http')) lines.push('  http?: (request: any) => Promise<any>;');
  if (!root.namespaces.has('mcp')) lines.push('  mcp?: any;');
  return lines;
}

function nameLine(tool: Tool): string {
  const sentence = firstSentence(tool.description);
  return `// tools.${identifierName(tool.name)}${sentence === '' ? '' : `: ${sentence}`}\n`;
}

/** The first sentence of a description, on one line, at most 160 characters. */
export function firstSentence(description: string): string {
  const line = docText(description, 1_000);
  const end = /(?<=[\p{L}\p{N})\]"'`])[.!?](?=\s+\p{Lu}|\s*$)/u.exec(line);
  return docText(end === null ? line : line.slice(0, end.index + 1), 160);
}
