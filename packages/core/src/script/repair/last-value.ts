import { returnsNothing } from '../analyse/callback-values.js';
import { functionFor } from '../syntax/own-functions.js';
import { type SyntaxIndex, isFunction } from '../syntax/syntax-index.js';
import { memberName, innerExpression, type Node } from '../syntax/syntax.js';

/** Methods that are called for their effect, not for the value that they return. */
const CHANGING = new Set(['add', 'clear', 'delete', 'forEach', 'pop', 'push', 'set', 'shift', 'splice', 'unshift']);
const OUTPUT = new Set(['text', 'emit', 'sleep']);

/**
 * Whether the value of a last statement is the result, as for `rows` or `await tools.x()`. `total += 1`, `seen.add(x)`
 * and `text(x)` are written for their effect, and JSON cannot represent a function or a Map.
 */
export function isLastValue(expression: Node, index: SyntaxIndex): boolean {
  const node = innerExpression(expression);
  switch (node.type) {
    case 'AssignmentExpression':
    case 'UpdateExpression':
    case 'NewExpression':
    case 'ClassExpression':
    case 'YieldExpression':
      return false;
    case 'UnaryExpression':
      return node.operator !== 'void' && node.operator !== 'delete';
    case 'AwaitExpression':
      return isLastValue(node.argument, index);
    case 'LogicalExpression':
      return isLastValue(node.right, index);
    case 'ConditionalExpression':
      return isLastValue(node.consequent, index) && isLastValue(node.alternate, index);
    case 'SequenceExpression':
      return isLastValue(node.expressions.at(-1) as Node, index);
    case 'CallExpression':
      return isCalledForValue(innerExpression(node.callee)) && !isLoop(node.arguments[0], index);
    case 'Identifier':
      return holdsData(node.name, index);
    default:
      return !isFunction(node);
  }
}

/**
 * Whether a call with this argument is a loop: its callback returns nothing, as in `rows.map((row) => { total +=
 * row.sum; })`.
 */
function isLoop(argument: Node | undefined, index: SyntaxIndex): boolean {
  const callback = functionFor(argument, index);
  return callback !== undefined && returnsNothing(callback);
}

function isCalledForValue(callee: Node): boolean {
  if (callee.type === 'Identifier') return !OUTPUT.has(callee.name);
  if (callee.type !== 'MemberExpression') return true;
  const object = innerExpression(callee.object);
  if (object.type === 'Identifier' && object.name === 'console') return false;
  const [root, namespace] = memberNamePath(callee);
  // `tools.kv.set(…)` is a tool in spite of its name; `tools.spawn` returns handles, which are not JSON.
  return root === 'tools' ? namespace !== 'spawn' : !CHANGING.has(memberName(callee) ?? '');
}

/** Names from the outermost object to the member. */
function memberNamePath(node: Node): string[] {
  const path: string[] = [];
  let at = node;
  while (at.type === 'MemberExpression') {
    path.unshift(memberName(at) ?? '');
    at = innerExpression(at.object);
  }
  return [at.type === 'Identifier' ? at.name : '', ...path];
}

/**
 * Whether the variable may hold JSON data. False for the names of functions and classes, and of values created by
 * `new`.
 */
function holdsData(name: string, index: SyntaxIndex): boolean {
  return (index.declared.get(name) ?? []).every(({ key, parent }) => {
    const node = parent?.node;
    if (key !== 'id') return true;
    if (node?.type === 'VariableDeclarator') {
      const value = node.init === null ? undefined : innerExpression(node.init);
      return value === undefined || (value.type !== 'NewExpression' && !isFunction(value));
    }
    return node === undefined || (!isFunction(node) && node.type !== 'ClassDeclaration');
  });
}
