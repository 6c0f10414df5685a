import { unwrapped } from './syntax.js';
import type { Node, NodeOf } from './syntax.js';

const DEEPEST = 64;

/** The value of an expression whose every part is literal JSON data; undefined for any other expression. */
export function literalValue(expression: Node): { readonly value: unknown } | undefined {
  const value = evaluate(expression, 0);
  return value === NOT_LITERAL ? undefined : { value };
}

const NOT_LITERAL = Symbol('not literal');

function evaluate(expression: Node, depth: number): unknown {
  if (depth > DEEPEST) return NOT_LITERAL;
  const node = unwrapped(expression);
  switch (node.type) {
    case 'Literal':
      return 'bigint' in node || 'regex' in node ? NOT_LITERAL : node.value;
    case 'TemplateLiteral':
      return node.expressions.length === 0 ? (node.quasis[0]?.value.cooked ?? NOT_LITERAL) : NOT_LITERAL;
    case 'UnaryExpression':
      return signedNumber(node);
    case 'ArrayExpression':
      return arrayOf(node, depth);
    case 'ObjectExpression':
      return objectOf(node, depth);
    default:
      return NOT_LITERAL;
  }
}

function signedNumber(node: NodeOf<'UnaryExpression'>): unknown {
  const { argument, operator } = node;
  if (argument.type !== 'Literal' || typeof argument.value !== 'number') return NOT_LITERAL;
  return operator === '-' ? -argument.value : operator === '+' ? argument.value : NOT_LITERAL;
}

function arrayOf(node: NodeOf<'ArrayExpression'>, depth: number): unknown {
  const values: unknown[] = [];
  for (const element of node.elements) {
    const value = element === null ? NOT_LITERAL : evaluate(element, depth + 1);
    if (value === NOT_LITERAL) return NOT_LITERAL;
    values.push(value);
  }
  return values;
}

function objectOf(node: NodeOf<'ObjectExpression'>, depth: number): unknown {
  const values: Record<string, unknown> = {};
  for (const property of node.properties) {
    if (property.type !== 'Property' || property.computed || property.method || property.kind !== 'init') {
      return NOT_LITERAL;
    }
    const key = keyOf(property.key);
    const value = evaluate(property.value, depth + 1);
    if (key === undefined || key === '__proto__' || value === NOT_LITERAL) return NOT_LITERAL;
    values[key] = value;
  }
  return values;
}

function keyOf(key: Node): string | undefined {
  if (key.type === 'Identifier') return key.name;
  return key.type === 'Literal' ? String(key.value) : undefined;
}
