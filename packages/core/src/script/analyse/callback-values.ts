import { methodFindings, type Finding, type MethodFinding } from './findings.js';
import { functionFor, type FunctionNode } from '../syntax/own-functions.js';
import { type SyntaxIndex, isFunction } from '../syntax/syntax-index.js';
import { memberName, outermost, innerExpression, walk, type Node, type Visit } from '../syntax/syntax.js';

/** For each method, the consequence of a callback that returns nothing. */
const CONSEQUENCES: ReadonlyMap<string, string> = new Map([
  ['filter', 'so nothing is kept'],
  ...['find', 'findLast', 'findIndex', 'findLastIndex', 'some'].map((name) => [name, 'so nothing is found'] as const),
  ['every', 'so the result is false'],
  ...['sort', 'toSorted'].map((name) => [name, 'so nothing is sorted'] as const),
  ...['reduce', 'reduceRight'].map((name) => [name, 'so the result is undefined'] as const),
  ...['map', 'flatMap'].map((name) => [name, 'so every item is undefined'] as const),
]);
/**
 * Methods that call their first argument. `find` and `sort` are omitted, because methods of other objects with these
 * names take data.
 */
const CALLING = new Set(['map', 'flatMap', 'filter', 'forEach', 'some', 'every', 'reduce', 'reduceRight', 'findIndex']);

/**
 * Reports calls of list methods that receive data instead of a function, or a function that returns nothing although
 * its value is needed (a missing `return`). A method is not reported if one of the script's own members or a part of a
 * tool's name has the same name.
 */
export function findCallbacksWithoutValue(index: SyntaxIndex, toolNames: readonly string[]): Finding[] {
  return methodFindings(index, toolNames, (visit) => callbackWithoutValue(visit, index));
}

function callbackWithoutValue(visit: Visit, index: SyntaxIndex): MethodFinding | undefined {
  const { node } = visit;
  if (node.type !== 'CallExpression') return undefined;
  const callee = innerExpression(node.callee);
  const method = callee.type === 'MemberExpression' ? (memberName(callee) ?? '') : '';
  const consequence = isLoop(method, visit) ? undefined : CONSEQUENCES.get(method);
  const [argument] = node.arguments;
  if (argument !== undefined && CALLING.has(method) && isData(argument)) {
    const message = `\`${method}\` takes its function first: \`${method}((item) => …)\`.`;
    return { method, finding: { severity: 'error', code: 'callback-missing', message, offset: argument.start } };
  }
  if (consequence === undefined) return undefined;
  const callback = functionFor(argument, index);
  if (callback === undefined || !returnsNothing(callback)) return undefined;
  const message = `The function given to \`${method}\` returns nothing, ${consequence}. Write \`return\` before the value.`;
  const finding: Finding = { severity: 'error', code: 'callback-value', message, offset: argument!.start };
  return { method, finding };
}

/** Whether the value is certainly not a function. */
function isData(argument: Node): boolean {
  const { type } = innerExpression(argument);
  return ['Literal', 'TemplateLiteral', 'ObjectExpression', 'ArrayExpression'].includes(type);
}

/**
 * Whether the call serves as a loop: its result is unused, so a missing `return` does no harm. A call of `sort` is
 * never a loop, because `sort` changes its list.
 */
function isLoop(method: string, visit: Visit): boolean {
  return method !== 'sort' && outermost(visit).parent?.node.type === 'ExpressionStatement';
}

/** Reports functions whose last statement is a value that they do not return: `function total() { a + b; }`. */
export function findLostValues({ program }: SyntaxIndex): Finding[] {
  const findings: Finding[] = [];
  walk(program, ({ node }) => {
    if (!isFunction(node)) return;
    const last = lastStatement((node as FunctionNode).body as Node);
    if (last?.type !== 'ExpressionStatement' || !isPure(last.expression) || !hasNoValue(node as FunctionNode)) return;
    const message =
      'The value of this last statement is lost: the function returns nothing. Write `return` before the value.';
    findings.push({ severity: 'error', code: 'lost-value', message, offset: last.start });
  });
  return findings;
}

/** The last statement of a function, even inside a final block: `{ a, b };` is meant to be an object. */
function lastStatement(body: Node): Node | undefined {
  let last: Node | undefined = body;
  while (last?.type === 'BlockStatement') last = last.body.findLast(({ type }) => type !== 'EmptyStatement');
  return last;
}

const ACTING = new Set<Node['type']>([
  'AssignmentExpression',
  'AwaitExpression',
  'CallExpression',
  'ImportExpression',
  'NewExpression',
  'TaggedTemplateExpression',
  'UpdateExpression',
  'YieldExpression',
]);

/** Whether the expression has a value and no effect. */
function isPure(expression: Node): boolean {
  // A literal as a statement is a directive, or a text that serves as a comment.
  if (expression.type === 'Literal') return false;
  let acts = false;
  walk(expression as never, ({ node }) => {
    acts ||=
      (ACTING.has(node.type) && !isComputed(node)) ||
      (node.type === 'UnaryExpression' && node.operator !== '!' && /^[a-z]/u.test(node.operator));
  });
  return !acts;
}

/** List methods that only compute a value, unless their callback acts. */
const COMPUTING = new Set(['map', 'flatMap', 'filter', 'find', 'reduce', 'slice', 'join', 'toSorted', 'toReversed']);

/** Whether the call is of a method that only computes a value. Its callback is looked at apart. */
function isComputed(node: Node): boolean {
  const callee = node.type === 'CallExpression' ? innerExpression(node.callee) : undefined;
  return callee?.type === 'MemberExpression' && COMPUTING.has(memberName(callee) ?? '');
}

/**
 * Whether the function never returns a value. False for an async function, for a generator, and for a function that
 * always throws.
 */
export function returnsNothing(callback: FunctionNode): boolean {
  return !callback.async && hasNoValue(callback);
}

function hasNoValue({ body, ...callback }: FunctionNode): boolean {
  if (body?.type !== 'BlockStatement' || ('generator' in callback && callback.generator)) return false;
  if (body.body.some(({ type: statement }) => statement === 'ThrowStatement')) return false;
  let hasValue = false;
  walk(body as never, ({ node, parent }) => {
    if (node.type === 'ReturnStatement' && node.argument !== null) hasValue ||= !isInside(parent, body);
  });
  return !hasValue;
}

/** Whether the visit is in a function that is nested inside `body`. */
function isInside(visit: Visit | undefined, body: Node): boolean {
  for (let at = visit; at !== undefined && at.node !== body; at = at.parent) if (isFunction(at.node)) return true;
  return false;
}
