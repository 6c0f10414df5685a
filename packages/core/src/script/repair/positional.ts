import type { ToolParameter } from '../../protocol/tool-parameter.js';
import type { Edit } from '../syntax/source-text.js';
import { innerExpression, type Node } from '../syntax/syntax.js';
import type { SyntaxIndex } from '../syntax/syntax-index.js';
import { findToolCalls, type ToolCall } from '../syntax/tool-calls.js';
import type { RepairNote, TreeRepair } from './tree-repair.js';

/** The parameters of tools in the order of their schemas, by the names that scripts write. */
export type ParametersByTool = ReadonlyMap<string, readonly ToolParameter[]>;

/** The tools that a script calls with arguments by position, as in `tools.add(1, 2)` and `tools.find('cats')`. */
export function toolsByPosition(calls: readonly ToolCall[]): readonly string[] {
  return [...new Set(calls.filter(isByPosition).map(({ tool }) => tool))];
}

/**
 * Gives the arguments of a call by position the names of the tool's parameters in the order of its schema. The type
 * checker then decides whether each argument fits its parameter.
 */
export function repairPositions(index: SyntaxIndex, parameters: ParametersByTool): TreeRepair | undefined {
  const edits: Edit[] = [];
  const notes: RepairNote[] = [];
  for (const call of findToolCalls(index)) {
    const names = isByPosition(call) ? namesFor(call.node.arguments, parameters.get(call.tool)) : undefined;
    if (names === undefined) continue;
    const last = call.node.arguments.at(-1) as Node;
    for (const [place, argument] of call.node.arguments.entries()) {
      const name = names[place] as string;
      const key = IDENTIFIER.test(name) ? name : JSON.stringify(name);
      edits.push({ start: argument.start, end: argument.start, text: `${place === 0 ? '{ ' : ''}${key}: ` });
    }
    edits.push({ start: last.end, end: last.end, text: ' }' });
    const message = `The arguments of tools.${call.tool} were read as ${names.join(', ')}, in the order of its declaration. Write \`tools.${call.tool}({ ${names.map((name) => `${name}: …`).join(', ')} })\`.`;
    notes.push({ code: 'repair-positions', message, severity: 'warning', offset: call.nameOffset });
  }
  return notes.length === 0 ? undefined : { edits, notes };
}

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/u;

/** Whether the arguments cannot be the one object that a tool takes. */
function isByPosition({ node, tool, optional }: ToolCall): boolean {
  const [first, ...others] = node.arguments;
  if (first === undefined || optional || tool.startsWith('spawn.')) return false;
  if (node.arguments.some(({ type }) => type === 'SpreadElement')) return false;
  return others.length === 0 ? isPlain(innerExpression(first)) : innerExpression(first).type !== 'ObjectExpression';
}

/** Whether the value is certainly no object with members. */
function isPlain(node: Node): boolean {
  if (node.type === 'Literal') return node.value !== null && typeof node.value !== 'object';
  return node.type === 'TemplateLiteral' || node.type === 'ArrayExpression';
}

/** The names of the arguments; undefined if the order does not give each argument one name, and each required name one. */
function namesFor(
  { length }: readonly unknown[],
  parameters: readonly ToolParameter[] | undefined,
): readonly string[] | undefined {
  if (parameters === undefined || length > parameters.length) return undefined;
  if (parameters.slice(length).some(({ isRequired }) => isRequired)) return undefined;
  return parameters.slice(0, length).map(({ name }) => name);
}
