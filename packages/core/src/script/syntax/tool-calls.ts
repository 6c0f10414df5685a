import { literalValue } from './literal.js';
import { type SyntaxIndex, isFunction } from './syntax-index.js';
import { isWritten, memberName, outermost, innerExpression, type Node, type NodeOf, type Visit } from './syntax.js';

/** A call of a tool in the source. */
export interface ToolCall {
  readonly visit: Visit;
  readonly node: NodeOf<'CallExpression'>;
  /** The name as the script writes it, with dots between its parts. */
  readonly tool: string;
  /** The offset of the tool's name, for reports about the name. */
  readonly nameOffset: number;
  /** True if the call handles a missing tool itself (`tools.x?.()`). */
  readonly optional: boolean;
}

/**
 * Finds calls in the forms `tools.NAME(…)` and `tools['NAME'](…)`, and calls of names from `const { NAME } = tools`.
 */
export function findToolCalls(index: SyntaxIndex): ToolCall[] {
  if (isShadowed(index)) return [];
  const aliases = findAliases(index);
  const calls: ToolCall[] = [];
  for (const visit of index.calls) {
    if (visit.node.type !== 'CallExpression') continue;
    const { node } = visit;
    const target = toolPath(node.callee, aliases);
    if (target === undefined) continue;
    calls.push({ visit, node, ...target, optional: target.optional || node.optional });
  }
  return calls;
}

/**
 * Returns a function that finds the tool that an expression names without calling the tool: `tools.files.read`, or a
 * variable that holds the tool.
 */
export function toolNaming(index: SyntaxIndex): (expression: Node) => string | undefined {
  if (isShadowed(index)) return () => undefined;
  const aliases = findAliases(index);
  return (expression) => toolPath(expression, aliases)?.tool;
}

/** Variables that hold a namespace of tools, or a tool. */
export function toolVariables(index: SyntaxIndex): ReadonlySet<string> {
  return isShadowed(index) ? new Set() : new Set(findAliases(index).keys());
}

/** The tool that runs, and its argument. For `tools.spawn.exec('x', args)`, these are the tool x and `args`. */
export function calledTool({ node, tool }: ToolCall): { readonly tool: string; readonly argument: Node | undefined } {
  const [first, second] = node.arguments;
  const spawned = tool === 'spawn.exec' && first !== undefined ? literalValue(first)?.value : undefined;
  return typeof spawned === 'string' ? { tool: spawned, argument: second } : { tool, argument: first };
}

/** Whether the script's own variable `tools` hides the global. A parameter of that name counts as the global. */
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

/** Variables that hold a tool or a namespace: `const { read } = tools`, `const read = tools.files.read`. */
function findAliases(index: SyntaxIndex): Map<string, string> {
  const aliases = new Map<string, string>();
  const unread: [name: string, path: string][] = [['tools', '']];
  for (let next = unread.pop(); next !== undefined; next = unread.pop()) {
    for (const visit of index.references.get(next[0]) ?? []) {
      for (const [local, path] of toolAliases(visit, next[1])) {
        if (aliases.has(local) || !isConstant(index, local)) continue;
        aliases.set(local, path);
        unread.push([local, path]);
      }
    }
  }
  return aliases;
}

function toolAliases(start: Visit, holding: string): [local: string, path: string][] {
  const { visit, path } = memberPath(start);
  const declarator = visit.parent?.node;
  if (visit.key !== 'init' || declarator?.type !== 'VariableDeclarator') return [];
  return namesIn(declarator.id, path.reduce(joinedPath, holding));
}

/** The names of the members that are read in turn from an expression, and the last of these member expressions. */
export function memberPath(start: Visit): { readonly visit: Visit; readonly path: readonly string[] } {
  const path: string[] = [];
  let visit = outermost(start);
  for (let { parent } = visit; parent?.node.type === 'MemberExpression' && visit.key === 'object'; { parent } = visit) {
    const name = memberName(parent.node);
    if (name === undefined) break;
    path.push(name);
    visit = outermost(parent);
  }
  return { visit, path };
}

function namesIn(pattern: Node, path: string): [local: string, path: string][] {
  if (pattern.type === 'Identifier') return path === '' ? [] : [[pattern.name, path]];
  if (pattern.type !== 'ObjectPattern') return [];
  return pattern.properties.flatMap((property) => {
    if (property.type !== 'Property' || property.computed || property.key.type !== 'Identifier') return [];
    return namesIn(property.value, joinedPath(path, property.key.name));
  });
}

/** Whether a variable is declared once, under a unique name, and never assigned again. */
export function isConstant({ declared, references }: SyntaxIndex, name: string): boolean {
  return declared.get(name)?.length === 1 && !(references.get(name) ?? []).some(isWritten);
}

function joinedPath(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

type ToolTarget = Pick<ToolCall, 'tool' | 'nameOffset' | 'optional'>;

function toolPath(expression: Node, aliases: ReadonlyMap<string, string>): ToolTarget | undefined {
  const parts: string[] = [];
  let optional = false;
  let nameOffset: number | undefined;
  let at: Node = innerExpression(expression);
  while (at.type === 'MemberExpression') {
    const name = memberName(at);
    if (name === undefined) return undefined;
    parts.unshift(name);
    nameOffset ??= at.property.start;
    optional ||= at.optional;
    at = innerExpression(at.object);
  }
  if (at.type !== 'Identifier') return undefined;
  const alias = aliases.get(at.name);
  if (alias !== undefined) parts.unshift(alias);
  else if (at.name !== 'tools') return undefined;
  return parts.length === 0 ? undefined : { tool: parts.join('.'), nameOffset: nameOffset ?? at.start, optional };
}
