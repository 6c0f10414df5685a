import type { Node as ParserNode, Program } from 'oxc-parser';

/** The parser's own tree (ESTree with TypeScript), without parentheses. Offsets count UTF-16 units. */
export type Node = ParserNode;
export type { Program };
export type NodeOf<Type extends Node['type']> = WithType<Node, Type>;
export type Identifier = NodeOf<'Identifier'>;

/** Some kinds of nodes serve several values of `type`, as those of functions do. */
type WithType<Each, Type> = Each extends { type: infer Types } ? (Type extends Types ? Each : never) : never;

const TYPE_WRAPPERS = [
  'TSAsExpression',
  'TSNonNullExpression',
  'TSSatisfiesExpression',
  'TSTypeAssertion',
  'ChainExpression',
];

/** True for a node that only describes the type of the node that it wraps, or ends an optional chain. */
export function isTransparent(node: Node): node is Node & { expression: Node } {
  return TYPE_WRAPPERS.includes(node.type) || node.type === 'ParenthesizedExpression';
}

/** The expression inside type assertions, parentheses and chains. */
export function unwrapped(node: Node): Node {
  let inner = node;
  while (isTransparent(inner)) inner = inner.expression;
  return inner;
}

/** The name that a member expression reads, if it is in the source: `a.b` and `a['b']` are both `b`. */
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
