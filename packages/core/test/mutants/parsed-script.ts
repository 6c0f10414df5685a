import { parseSync } from 'oxc-parser';
import type { Tool } from '#core/protocol/index.js';
import { indexSyntax, type SyntaxIndex } from '#core/script/syntax/syntax-index.js';
import { memberName, innerExpression, walk, type Node, type NodeOf, type Visit } from '#core/script/syntax/syntax.js';
import { findToolCalls, type ToolCall } from '#core/script/syntax/tool-calls.js';

/** A good script, with the data that the operators need. */
export interface ParsedScript {
  readonly name: string;
  readonly source: string;
  readonly index: SyntaxIndex;
  readonly visits: readonly Visit[];
  /** Calls to existing tools. */
  readonly calls: readonly KnownCall[];
  /** Names of members that results of the called tools have. */
  readonly resultMembers: ReadonlySet<string>;
}

export interface KnownCall extends ToolCall {
  readonly schema: Schema;
  /** The only argument, if it is an object literal. */
  readonly argument: NodeOf<'ObjectExpression'> | undefined;
}

/** The part of a JSON Schema that the operators use. */
export interface Schema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
}

export type Member = NodeOf<'ObjectExpression'>['properties'][number] & { type: 'Property' };

export function parseScript(name: string, source: string, tools: readonly Tool[]): ParsedScript {
  const { program } = parseSync('script.ts', source, { lang: 'ts', sourceType: 'module', preserveParens: false });
  const index = indexSyntax(program);
  const visits: Visit[] = [];
  walk(program, (visit) => void visits.push(visit));
  const byName = new Map(tools.map((tool) => [scriptName(tool.name), tool]));
  const found = findToolCalls(index).flatMap((call) => {
    const tool = byName.get(scriptName(call.tool));
    return tool === undefined ? [] : [{ call, tool }];
  });
  const resultMembers = new Set<string>();
  for (const { tool } of found) collectMembers(tool.outputSchema as Schema | undefined, resultMembers);
  return {
    name,
    source,
    index,
    visits,
    calls: found.map(({ call, tool }) => ({
      ...call,
      schema: tool.inputSchema as Schema,
      argument: argumentOf(call),
    })),
    resultMembers,
  };
}

const scriptName = (name: string) => name.replaceAll(/[^\w$.]/gu, '_');

function argumentOf({ node }: ToolCall): NodeOf<'ObjectExpression'> | undefined {
  const [only] = node.arguments;
  return only?.type === 'ObjectExpression' && node.arguments.length === 1 ? only : undefined;
}

function collectMembers(schema: Schema | undefined, names: Set<string>): void {
  if (schema === undefined) return;
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    names.add(name);
    collectMembers(member, names);
  }
  collectMembers(schema.items, names);
  for (const choice of schema.anyOf ?? []) collectMembers(choice, names);
  for (const definition of Object.values(schema.$defs ?? {})) collectMembers(definition, names);
}

/** Members of a literal argument that the source contains, each with its schema. */
export function membersOf(call: KnownCall): { member: Member; name: string; schema: Schema; required: boolean }[] {
  return (call.argument?.properties ?? []).flatMap((member) => {
    if (member.type !== 'Property' || member.computed || member.key.type !== 'Identifier') return [];
    const { name } = member.key;
    const own = call.schema.properties?.[name];
    const schema = own?.$ref === undefined ? own : call.schema.$defs?.[own.$ref.split('/').at(-1) ?? ''];
    const required = call.schema.required?.includes(name) === true;
    return schema === undefined ? [] : [{ member: member as Member, name, schema, required }];
  });
}

/** Places that read a member of a result. */
export function resultReads({ visits, resultMembers }: ParsedScript): (Visit & { node: NodeOf<'MemberExpression'> })[] {
  return visits.filter((visit): visit is Visit & { node: NodeOf<'MemberExpression'> } => {
    const { node, key, parent } = visit;
    if (node.type !== 'MemberExpression' || node.computed || rootOf(node) === 'tools') return false;
    const isWritten = key === 'left' || parent?.node.type === 'UpdateExpression';
    const isMethod = key === 'callee';
    return !isWritten && !isMethod && resultMembers.has(memberName(node) ?? '');
  });
}

function rootOf(node: Node): string {
  let at = innerExpression(node);
  while (at.type === 'MemberExpression') at = innerExpression(at.object);
  return at.type === 'Identifier' ? at.name : '';
}
