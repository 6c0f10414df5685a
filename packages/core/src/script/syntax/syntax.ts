import { visitorKeys, type Node as ParserNode, type Program } from 'oxc-parser';

/** A node of the parser's own tree (ESTree with TypeScript), without parentheses. Offsets count UTF-16 units. */
export type Node = ParserNode;
export type { Program };
export type NodeOf<Type extends Node['type']> = WithType<Node, Type>;
export type Identifier = NodeOf<'Identifier'>;

/** Selects a node type by its `type`. Some node types have several values of `type`, such as those of functions. */
type WithType<Each, Type> = Each extends { type: infer Types } ? (Type extends Types ? Each : never) : never;

const TYPE_WRAPPERS = [
  'TSAsExpression',
  'TSNonNullExpression',
  'TSSatisfiesExpression',
  'TSTypeAssertion',
  'ChainExpression',
];

/** Whether the node only wraps another node, as type assertions, optional chains and parentheses do. */
export function isTransparent(node: Node): node is Node & { expression: Node } {
  return TYPE_WRAPPERS.includes(node.type) || node.type === 'ParenthesizedExpression';
}

/** The expression inside type assertions, parentheses and chains. */
export function innerExpression(node: Node): Node {
  let inner = node;
  while (isTransparent(inner)) inner = inner.expression;
  return inner;
}

/** The name that a member expression reads, if the name is in the source: `a.b` and `a['b']` both read `b`. */
export function memberName(node: NodeOf<'MemberExpression'>): string | undefined {
  const { property } = node;
  if (!node.computed) return property.type === 'Identifier' ? property.name : undefined;
  if (property.type === 'Literal') return String(property.value);
  if (property.type === 'TemplateLiteral' && property.expressions.length === 0) {
    return property.quasis[0]?.value.cooked ?? undefined;
  }
  return undefined;
}

/** An object or a list literal. */
export type Compound = NodeOf<'ObjectExpression'> | NodeOf<'ArrayExpression'>;

export function isCompound(node: Node): node is Compound {
  return node.type === 'ObjectExpression' || node.type === 'ArrayExpression';
}

/** A node with the path to it: its parent, and the parent's key that holds the node. */
export interface Visit {
  readonly node: Node;
  readonly key: string;
  readonly parent: Visit | undefined;
}

/** The outermost expression around the node that adds only type assertions, parentheses and optional chains. */
export function outermost(visit: Visit): Visit {
  let at = visit;
  while (at.parent !== undefined && isTransparent(at.parent.node)) at = at.parent;
  return at;
}

/** Whether the script assigns a value to the expression. */
export function isWritten(visit: Visit): boolean {
  const { key, parent } = outermost(visit);
  switch (parent?.node.type) {
    case 'AssignmentExpression':
    case 'ForOfStatement':
    case 'ForInStatement':
      return key === 'left';
    case 'UpdateExpression':
      return true;
    // These nodes contain the assigned expressions in `[a.b] = …` and `({ x: a.b } = …)`.
    case 'ArrayPattern':
    case 'RestElement':
    case 'AssignmentPattern':
      return true;
    case 'Property':
      return parent.parent?.node.type === 'ObjectPattern';
    default:
      return false;
  }
}

/** Visits every node in source order, parents first. The walk is not recursive: a deep tree costs memory, not stack. */
export function walk(program: Node, enter: (visit: Visit) => void): void {
  const open: Visit[] = [{ node: program, key: '', parent: undefined }];
  for (let visit = open.pop(); visit !== undefined; visit = open.pop()) {
    enter(visit);
    pushChildren(visit, open);
  }
}

function pushChildren(parent: Visit, open: Visit[]): void {
  const members = parent.node as unknown as Record<string, unknown>;
  const keys = visitorKeys[parent.node.type] ?? [];
  for (let index = keys.length - 1; index >= 0; index--) {
    const key = keys[index] as string;
    const child = members[key];
    if (Array.isArray(child)) {
      for (let place = child.length - 1; place >= 0; place--) {
        if (child[place] !== null) open.push({ node: child[place] as Node, key, parent });
      }
    } else if (child !== null && child !== undefined) open.push({ node: child as Node, key, parent });
  }
}
