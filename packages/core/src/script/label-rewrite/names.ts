import { visitorKeys } from 'oxc-parser';
import { patternVariables } from '../analyse/top-level.js';
import type { Node } from '../syntax/syntax.js';

/** The names that a pattern declares or assigns. */
export function patternNames(pattern: Node | null | undefined): string[] {
  return pattern === null || pattern === undefined ? [] : patternVariables(pattern).map(({ name }) => name);
}

/** Visits a node and what is in it, parents first; not the children of a node for which `enter` returns false. */
function visit(node: Node, enter: (node: Node) => boolean | void): void {
  if (enter(node) === false) return;
  const members = node as unknown as Record<string, unknown>;
  for (const key of visitorKeys[node.type] ?? []) {
    const child = members[key];
    if (Array.isArray(child)) for (const one of child) visitChild(one, enter);
    else visitChild(child, enter);
  }
}

function visitChild(child: unknown, enter: (node: Node) => boolean | void): void {
  if (typeof child === 'object' && child !== null) visit(child as Node, enter);
}

export function isFunctionNode({ type }: Node): boolean {
  return type === 'FunctionDeclaration' || type === 'FunctionExpression' || type === 'ArrowFunctionExpression';
}

/** The names that a node itself assigns, without those that it declares. */
function assignedHere(node: Node): string[] {
  if (node.type === 'AssignmentExpression') return patternNames(node.left);
  if (node.type === 'UpdateExpression') return patternNames(node.argument);
  if (node.type !== 'ForOfStatement' && node.type !== 'ForInStatement') return [];
  return node.left.type === 'VariableDeclaration' ? [] : patternNames(node.left);
}

/** All names that are assigned anywhere in the node. */
export function reassignedNames(root: Node): ReadonlySet<string> {
  const found = new Set<string>();
  visit(root, (node) => {
    for (const name of assignedHere(node)) found.add(name);
  });
  return found;
}

/** The names that are assigned in the node, outside functions in it. */
export function assignedNames(root: Node): ReadonlySet<string> {
  const found = new Set<string>();
  visit(root, (node) => {
    if (isFunctionNode(node)) return false;
    for (const name of assignedHere(node)) found.add(name);
    return true;
  });
  return found;
}

/** The private names that are methods or accessors. */
export function privateMembers(root: Node): ReadonlyMap<string, 'method' | 'accessor'> {
  const found = new Map<string, 'method' | 'accessor'>();
  visit(root, (node) => {
    if (node.type === 'MethodDefinition' && node.key.type === 'PrivateIdentifier')
      found.set(node.key.name, node.kind === 'method' ? 'method' : 'accessor');
  });
  return found;
}

/** The names that `var` declares in a function's body. */
export function varNames(body: readonly Node[]): readonly string[] {
  const found: string[] = [];
  for (const statement of body)
    visit(statement, (node) => {
      if (isFunctionNode(node) || node.type === 'ClassBody') return false;
      if (node.type === 'VariableDeclaration' && node.kind === 'var')
        found.push(...node.declarations.flatMap(({ id }) => patternNames(id)));
      return true;
    });
  return found;
}

const JUMPS: ReadonlySet<string> = new Set([
  'ReturnStatement',
  'BreakStatement',
  'ContinueStatement',
  'ThrowStatement',
]);

/** Whether the node may leave the place where it stands, other than through its end. */
export function mayJump(root: Node): boolean {
  let found = false;
  visit(root, (node) => {
    if (isFunctionNode(node)) return false;
    found ||= JUMPS.has(node.type);
    return true;
  });
  return found;
}

/** Names that the rewritten code uses itself. A script that has one of them cannot be rewritten. */
const OWN_NAME = /^\$(?:\d+|[af]|e|pc|th|v|[esvwx]\d+l?)?$|\$\$$/u;

export function ownName(root: Node): string | undefined {
  let found: string | undefined;
  visit(root, (node) => {
    if (node.type === 'Identifier' && OWN_NAME.test(node.name)) found = node.name;
  });
  return found;
}
