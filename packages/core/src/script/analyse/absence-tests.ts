import { memberName, innerExpression, type NodeOf, type Visit } from '../syntax/syntax.js';

const TESTS = new Set(['Array.isArray', 'Number.isFinite', 'Number.isInteger', 'Boolean', 'Object.hasOwn']);
const EQUALITY = new Set<string>(['==', '!=', '===', '!==']);

/** Whether the code handles the absence of the value, or at least tests the value. */
export function absenceTest({ key, parent }: Visit): 'guarded' | 'tested' | undefined {
  const holder = parent?.node;
  switch (holder?.type) {
    case 'LogicalExpression':
      return 'guarded';
    case 'MemberExpression':
      return key === 'object' && holder.optional ? 'guarded' : undefined;
    case 'CallExpression':
      return (key === 'callee' && holder.optional) || (key === 'arguments' && isTest(holder)) ? 'guarded' : undefined;
    case 'UnaryExpression':
      if (holder.operator === 'delete' || holder.operator === 'typeof') return 'guarded';
      return holder.operator === '!' ? 'tested' : undefined;
    case 'IfStatement':
    case 'ConditionalExpression':
    case 'WhileStatement':
    case 'DoWhileStatement':
    case 'ForStatement':
      return key === 'test' ? 'tested' : undefined;
    case 'BinaryExpression':
      return EQUALITY.has(holder.operator) ? 'tested' : undefined;
    default:
      return undefined;
  }
}

function isTest(call: NodeOf<'CallExpression'>): boolean {
  const callee = innerExpression(call.callee);
  if (callee.type === 'Identifier') return TESTS.has(callee.name);
  if (callee.type !== 'MemberExpression') return false;
  const object = innerExpression(callee.object);
  return object.type === 'Identifier' && TESTS.has(`${object.name}.${memberName(callee) ?? ''}`);
}
