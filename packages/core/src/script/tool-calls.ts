import { literalValue } from './literal.js';
import type { SyntaxIndex } from './syntax-index.js';
import { isFunction } from './syntax-index.js';
import { memberName, unwrapped } from './syntax.js';
import type { Node, NodeOf } from './syntax.js';
import type { Visit } from './walk.js';

/** One place in the source that calls a tool. */
export interface ToolCall {
  readonly visit: Visit;
  readonly node: NodeOf<'CallExpression'>;
  /** The name as the script writes it, dots between its parts. */
  readonly tool: string;
  /** Where the tool's name stands, for reports about the name. */
  readonly nameOffset: number;
  /** The call says itself that the tool may be missing: `tools.x?.()`. */
  readonly optional: boolean;
}

/** Calls of `tools.NAME(…)`, `tools['NAME'](…)`, and of names taken out by `const { NAME } = tools`. */
export function findToolCalls(index: SyntaxIndex): ToolCall[] {
  if (isShadowed(index)) return [];
  const aliases = findAliases(index);
  const calls: ToolCall[] = [];
  for (const visit of index.calls) {
    if (visit.node.type !== 'CallExpression') continue;
    const target = toolPath(visit.node, aliases);
    if (target !== undefined) calls.push({ visit, node: visit.node, ...target });
  }
  return calls;
}

/** The tool that runs, and the argument that it gets: of `tools.spawn.exec('x', args)` the tool x. */
export function calledTool({ node, tool }: ToolCall): { readonly tool: string; readonly argument: Node | undefined } {
  const [first, second] = node.arguments;
  const spawned = tool === 'spawn.exec' && first !== undefined ? literalValue(first)?.value : undefined;
  return typeof spawned === 'string' ? { tool: spawned, argument: second } : { tool, argument: first };
}

/** A script with a variable named `tools` speaks of its own; a parameter of that name is taken for the global. */
function isShadowed(index: SyntaxIndex): boolean {
  const declarations = index.declared.get('tools') ?? [];
  return declarations.some((visit) => {
    for (let at: Visit | undefined = visit; at?.parent !== undefined; at = at.parent) {
      if (at.key === 'params' && isFunction(at.parent.node)) return false;
      if (at.parent.node.type === 'VariableDeclaration') return !at.parent.node.declare;
    }
    return true;
  });
}

function findAliases(index: SyntaxIndex): Map<string, string> {
  const aliases = new Map<string, string>();
  for (const visit of index.references.get('tools') ?? []) {
    const declarator = visit.parent?.node;
    if (visit.key !== 'init' || declarator?.type !== 'VariableDeclarator') continue;
    if (declarator.id.type !== 'ObjectPattern') continue;
    for (const property of declarator.id.properties) {
      if (property.type !== 'Property' || property.computed || property.value.type !== 'Identifier') continue;
      const name = property.key.type === 'Identifier' ? property.key.name : undefined;
      const local = property.value.name;
      if (name !== undefined && index.declared.get(local)?.length === 1) aliases.set(local, name);
    }
  }
  return aliases;
}

type ToolTarget = Pick<ToolCall, 'tool' | 'nameOffset' | 'optional'>;

function toolPath(call: NodeOf<'CallExpression'>, aliases: ReadonlyMap<string, string>): ToolTarget | undefined {
  const parts: string[] = [];
  let optional = call.optional;
  let nameOffset: number | undefined;
  let at: Node = unwrapped(call.callee);
  while (at.type === 'MemberExpression') {
    const name = memberName(at);
    if (name === undefined) return undefined;
    parts.unshift(name);
    nameOffset ??= at.property.start;
    optional ||= at.optional;
    at = unwrapped(at.object);
  }
  if (at.type !== 'Identifier') return undefined;
  const alias = aliases.get(at.name);
  if (alias !== undefined) parts.unshift(alias);
  else if (at.name !== 'tools') return undefined;
  return parts.length === 0 ? undefined : { tool: parts.join('.'), nameOffset: nameOffset ?? at.start, optional };
}
