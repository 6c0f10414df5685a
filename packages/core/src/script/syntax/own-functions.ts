import { type SyntaxIndex, isFunction } from './syntax-index.js';
import { memberName, outermost, innerExpression, type Node, type Visit } from './syntax.js';

export type FunctionNode = Extract<Node, { async: boolean; params: unknown }>;

/**
 * The function to which an argument refers: an inline function, or the function that the argument's name always
 * denotes.
 */
export function functionFor(
  argument: Node | undefined,
  { declared, references }: SyntaxIndex,
): FunctionNode | undefined {
  if (argument === undefined) return undefined;
  if (argument.type !== 'Identifier') return isFunction(argument) ? (argument as FunctionNode) : undefined;
  const [only, ...others] = declared.get(argument.name) ?? [];
  if (only?.key !== 'id' || others.length > 0) return undefined;
  const isChanged = (references.get(argument.name) ?? []).some(
    ({ key, parent }) => key === 'left' && parent?.node.type === 'AssignmentExpression',
  );
  const holder = only.parent?.node;
  const value = holder?.type === 'VariableDeclarator' ? (holder.init ?? undefined) : holder;
  return value !== undefined && !isChanged && isFunction(value) ? (value as FunctionNode) : undefined;
}

/**
 * The calls of a function: calls in place, calls by the name that always denotes the function, and calls of the only
 * method with the function's name.
 */
export function functionCalls(fn: Visit, index: SyntaxIndex): Visit[] {
  const method = methodName(fn);
  if (method !== undefined) return callsOfMethod(method, index);
  const name = functionName(fn);
  const uses = name === undefined ? [] : (index.references.get(name) ?? []);
  const isMeant = uses[0] !== undefined && functionFor(uses[0].node, index) === fn.node;
  return [fn, ...(isMeant ? uses : [])].flatMap((use) => {
    const { key, parent } = outermost(use);
    return key === 'callee' && parent?.node.type === 'CallExpression' ? [parent] : [];
  });
}

/** The name of the function as a member of one of the script's own objects or classes. */
function methodName({ key, parent }: Visit): string | undefined {
  const holder = parent?.node;
  if (key !== 'value' || (holder?.type !== 'Property' && holder?.type !== 'MethodDefinition')) return undefined;
  if (holder.computed || holder.key.type !== 'Identifier' || holder.kind === 'get') return undefined;
  return holder.key.name;
}

/**
 * The prototypes of the language's own objects. A call of a method with the name of one of their members may be a call
 * of that member.
 */
const BUILT_IN = [Array, Date, Function, Map, Object, Promise, RegExp, Set, String].map(({ prototype }) => prototype);

function callsOfMethod(name: string, { calls, methods, references }: SyntaxIndex): Visit[] {
  const isKnown = methods.get(name) === 1 && !BUILT_IN.some((prototype) => name in prototype);
  // The filter excludes calls of tools, because a tool may have the same name as a method.
  const isOfTools = (root: Node) => root.type === 'Identifier' && root.name === 'tools';
  if (!isKnown || references.has('Proxy')) return [];
  return calls.filter(({ node }) => {
    const callee = node.type === 'CallExpression' ? innerExpression(node.callee) : undefined;
    return callee?.type === 'MemberExpression' && memberName(callee) === name && !isOfTools(rootNode(callee));
  });
}

/** The `a` in `a.b.c`. */
export function rootNode(node: Node): Node {
  let at = node;
  while (at.type === 'MemberExpression') at = innerExpression(at.object);
  return at;
}

function functionName({ node, key, parent }: Visit): string | undefined {
  if (node.type === 'FunctionDeclaration') return node.id?.name;
  const holder = parent?.node;
  return key === 'init' && holder?.type === 'VariableDeclarator' && holder.id.type === 'Identifier'
    ? holder.id.name
    : undefined;
}

/** The innermost function that contains the node. */
export function functionAround({ parent }: Visit): Visit | undefined {
  let at = parent;
  while (at !== undefined && !isFunction(at.node)) at = at.parent;
  return at;
}

export function isTopLevel(visit: Visit): boolean {
  return functionAround(visit) === undefined;
}
