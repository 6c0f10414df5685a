import type { Finding } from './findings.js';
import type { SyntaxIndex } from '../syntax/syntax-index.js';
import { isListMethod } from './async-callbacks.js';
import { functionAround, isTopLevel } from '../syntax/own-functions.js';
import {
  CHAINING,
  callChain,
  gatheringMethod,
  isReturned,
  isUnusedVariable,
  outermostLiteral,
  whereItGoes,
  type PromiseCall,
  type PromiseCalls,
} from './promise-calls.js';
import { memberName, innerExpression, type Node, type NodeOf, type Visit } from '../syntax/syntax.js';
import { isConstant, memberPath } from '../syntax/tool-calls.js';

/** Codes of uses that no author can intend. */
const CERTAIN = new Set(['promise-in-text', 'promise-in-result']);
const TEXT_FUNCTIONS = new Set(['String', 'text', 'emit', 'Number', 'Boolean', 'parseInt', 'parseFloat']);

/**
 * Reports uses of a promise as if the promise were its value. `void tools.x()`, and `const p = tools.x()` with a later
 * use of `p`, are deliberate. Uses that no author can intend are errors: for example, a promise that is converted to
 * text or returned inside a value, and a call in a function that a list method calls for each item without waiting.
 */
export function findPromiseMisuse(index: SyntaxIndex, promises: PromiseCalls): Finding[] {
  return [
    ...promises.all.flatMap((call) => promiseMisuse(index, call) ?? []),
    ...promises.all.flatMap((call) => misuseOfVariable(index, call)),
    ...promises.all.flatMap((call) => lostInList(index, call)),
    ...uncalledTools(index),
  ];
}

function promiseMisuse(index: SyntaxIndex, call: PromiseCall): Finding | undefined {
  const { holder, child } = whereItGoes(call.visit);
  const rule = judge(holder, child) ?? (holder !== undefined && isUnusedVariable(holder, index) ? UNUSED : undefined);
  if (rule === undefined || (child !== call.visit && isInExecutor(call.visit))) return undefined;
  const [code, what] = rule;
  const isInList = holder?.node.type === 'ExpressionStatement' && isInListMethod(call.visit);
  const message = `${namedCall(call)} returns a promise, and this promise is ${what}. ${adviceFor(call, isInList)}`;
  // If the promise is only one of the two values of the tested expression, the script may intend to test which of the
  // two values the expression has.
  const isAsked = code === 'promise-in-condition' && child.node === callChain(call.visit).node;
  const severity = isInList || isAsked || CERTAIN.has(code) ? 'error' : 'warning';
  return { severity, code, message, offset: call.node.start };
}

const UNUSED: Judgement = ['floating-promise', 'never used: unfinished work is aborted when the script ends'];

function adviceFor({ name, visit }: PromiseCall, isInList: boolean): string {
  if (isInList) return 'Use `for (const item of items) { await … }`, which waits for each promise.';
  const fn = functionAround(visit)?.node as { async?: boolean | undefined } | undefined;
  const call = name === '' ? '`await` before the call' : `\`await ${name}(…)\``;
  return fn === undefined || fn.async === true ? `Write ${call}.` : `Write ${call}, in an async function.`;
}

function namedCall({ name }: PromiseCall): string {
  return name === '' ? 'The function' : `${name}()`;
}

/**
 * Whether the call is in an executor, as in `new Promise((resolve) => { tools.x().then(resolve); })`: the script waits
 * for the outer promise.
 */
function isInExecutor(visit: Visit): boolean {
  const fn = functionAround(visit);
  const construction = fn?.key === 'arguments' ? fn.parent?.node : undefined;
  return (
    construction?.type === 'NewExpression' &&
    construction.callee.type === 'Identifier' &&
    construction.callee.name === 'Promise'
  );
}

/** Whether a list method calls the surrounding function for each item. Such a method does not wait. */
function isInListMethod(visit: Visit): boolean {
  const fn = functionAround(visit);
  return fn?.key === 'arguments' && fn.parent !== undefined && isListMethod(fn.parent);
}

/**
 * Reports uses of a variable that always holds the promise of one call: in a text, in a result, and, for
 * `Promise.all(…)`, as the list: `rows[0]`, `rows.map(…)`, a loop over `rows`.
 */
function misuseOfVariable(index: SyntaxIndex, call: PromiseCall): Finding[] {
  const { holder } = whereItGoes(call.visit);
  if (holder?.node.type !== 'VariableDeclarator' || holder.node.id.type !== 'Identifier') return [];
  const { name } = holder.node.id;
  if (!isConstant(index, name)) return [];
  const isGathered = gatheringMethod(call.node) !== '';
  const uses = (index.references.get(name) ?? []).map((use) => {
    const { holder: user, child } = whereItGoes(use);
    const [code, what] = judge(user, child) ?? ['', ''];
    return { use, user, code, what };
  });
  // A script that only tests a promise means its value. A script that also awaits it may ask whether it was started.
  const isOnlyTested =
    innerExpression(holder.node.init as Node) === callChain(call.visit).node &&
    uses.every(({ code, user }) => code === 'promise-in-condition' && user?.node.type !== 'LogicalExpression');
  return uses.flatMap(({ use, user, code, what }) => {
    const isMisuse = isGathered
      ? code !== '' && user?.node.type !== 'ExpressionStatement'
      : CERTAIN.has(code) || isOnlyTested;
    if (!isMisuse) return [];
    const advice = isGathered ? `\`await\` before \`${call.name}(…)\`` : `\`await ${name}\``;
    const message = `\`${name}\` is the promise of ${namedCall(call)}, and this promise is ${what}. Write ${advice}.`;
    return [
      { severity: 'error' as const, code: isGathered ? 'promise-as-value' : code, message, offset: use.node.start },
    ];
  });
}

/**
 * Reports `list.push(tools.x())` if the script never awaits the promises in the list: it only adds to the list, counts
 * it, returns it, or awaits the list itself.
 */
function lostInList(index: SyntaxIndex, call: PromiseCall): Finding[] {
  const { holder, child } = whereItGoes(call.visit);
  const list = child.key === 'arguments' && holder !== undefined ? addedTo(holder, index) : undefined;
  if (list === undefined) return [];
  const uses = (index.references.get(list) ?? []).map(listUse);
  if (uses.includes(undefined)) return [];
  const [code, what] = uses.includes('returned')
    ? ['promise-in-result', 'which the script returns, and which a result cannot hold']
    : uses.includes('awaited')
      ? ['floating-promise', 'and `await` does not wait for the items of a list']
      : ['floating-promise', 'and nothing waits for the items of this list'];
  const message = `${namedCall(call)} returns a promise, and this promise is added to \`${list}\`, ${what}. Use \`await Promise.all(${list})\`.`;
  return [{ severity: 'error', code, message, offset: call.node.start }];
}

/** The list that receives a value, if the node is `list.push(…)` and `list` always holds one list. */
function addedTo({ node }: Visit, index: SyntaxIndex): string | undefined {
  const callee = node.type === 'CallExpression' ? innerExpression(node.callee) : undefined;
  if (callee?.type !== 'MemberExpression' || !ADDING.has(memberName(callee) ?? '')) return undefined;
  const object = innerExpression(callee.object);
  if (object.type !== 'Identifier' || index.isCell || !isConstant(index, object.name)) return undefined;
  const declarator = index.declared.get(object.name)?.[0]?.parent?.node;
  const isList =
    declarator?.type === 'VariableDeclarator' &&
    declarator.init !== null &&
    innerExpression(declarator.init).type === 'ArrayExpression';
  return isList ? object.name : undefined;
}

const ADDING = new Set(['push', 'unshift']);

/** The use that a script makes of a list; undefined if its items may be awaited. */
function listUse(use: Visit): 'added' | 'awaited' | 'returned' | undefined {
  const { visit, path } = memberPath(use);
  const { key, parent } = visit;
  const [member = ''] = path;
  if (path.length === 1 && ADDING.has(member))
    return key === 'callee' && parent?.parent?.node.type === 'ExpressionStatement' ? 'added' : undefined;
  if (path.length === 1) return member === 'length' ? 'added' : undefined;
  if (path.length > 1 || parent === undefined) return undefined;
  if (parent.node.type === 'AwaitExpression')
    return parent.parent?.node.type === 'ExpressionStatement' ? 'awaited' : undefined;
  return parent.node.type === 'ReturnStatement' && isTopLevel(parent) ? 'returned' : undefined;
}

/**
 * Reports a tool that the script names but does not call: `await tools.x`, `tools.x;` as a statement, and
 * `return tools.x` at the script's top level.
 */
function uncalledTools(index: SyntaxIndex): Finding[] {
  return (index.references.get('tools') ?? []).flatMap((start) => {
    const { visit, path } = memberPath(start);
    const holder = visit.parent;
    if (path.length === 0 || holder === undefined || !usesNothing(holder)) return [];
    const name = ['tools', ...path].join('.');
    const message = `${name} is not called here. Write \`await ${name}({ … })\`.`;
    return [{ severity: 'error' as const, code: 'uncalled-tool', message, offset: start.node.start }];
  });
}

function usesNothing(holder: Visit): boolean {
  const { type } = holder.node;
  return (
    type === 'AwaitExpression' || type === 'ExpressionStatement' || (type === 'ReturnStatement' && isTopLevel(holder))
  );
}

/** Whether the part of a literal is inside of an argument of `JSON.stringify`. */
function isInJsonText(part: Visit): boolean {
  const { key, parent } = outermostLiteral(part);
  if (key !== 'arguments' || parent?.node.type !== 'CallExpression') return false;
  const callee = innerExpression(parent.node.callee);
  if (callee.type !== 'MemberExpression' || memberName(callee) !== 'stringify') return false;
  const object = innerExpression(callee.object);
  return object.type === 'Identifier' && object.name === 'JSON';
}

type Judgement = readonly [code: string, what: string];

function judge(holder: Visit | undefined, child: Visit): Judgement | undefined {
  const node = holder?.node;
  switch (node?.type) {
    case 'ExpressionStatement':
      return ['floating-promise', 'not awaited: unfinished work is aborted when the script ends'];
    case 'SpreadElement':
      return ['floating-promise', 'spread without being awaited'];
    case 'MemberExpression':
      if (child.key !== 'object' || CHAINING.has(memberName(node) ?? '')) return undefined;
      return ['floating-promise', `read for \`.${memberName(node) ?? '…'}\`, which only its value has`];
    case 'ForOfStatement':
      return child.key === 'right' && !node.await ? ['floating-promise', 'iterated without being awaited'] : undefined;
    case 'TemplateLiteral':
      return holder?.parent?.node.type === 'TaggedTemplateExpression'
        ? undefined
        : ['promise-in-text', 'converted to the string "[object Promise]"'];
    case 'BinaryExpression':
      if (node.operator === '+') return ['promise-in-text', 'concatenated with a string as "[object Promise]"'];
      return ['promise-in-condition', 'compared without being awaited'];
    case 'CallExpression':
      return child.key === 'arguments' ? judgeArgument(node) : undefined;
    case 'Property':
    case 'ArrayExpression':
      if (isReturned(holder as Visit)) return ['promise-in-result', 'returned inside a value'];
      return isInJsonText(holder as Visit) ? ['promise-in-text', 'written by JSON.stringify() as {}'] : undefined;
    case 'IfStatement':
    case 'WhileStatement':
    case 'DoWhileStatement':
    case 'ForStatement':
    case 'ConditionalExpression':
      return child.key === 'test' ? ['promise-in-condition', 'used as a condition, which is always true'] : undefined;
    case 'SwitchStatement':
      return ['promise-in-condition', 'compared without being awaited'];
    case 'LogicalExpression':
      return ['promise-in-condition', 'used as a condition, which is always true'];
    case 'UnaryExpression':
      return node.operator === '!' ? ['promise-in-condition', 'negated, which is always false'] : undefined;
    default:
      return undefined;
  }
}

function judgeArgument(call: NodeOf<'CallExpression'>): Judgement | undefined {
  const callee = innerExpression(call.callee);
  if (callee.type === 'Identifier' && TEXT_FUNCTIONS.has(callee.name)) {
    return ['promise-in-text', `passed to ${callee.name}() without being awaited`];
  }
  if (callee.type !== 'MemberExpression') return undefined;
  const object = innerExpression(callee.object);
  if (object.type !== 'Identifier' || (object.name !== 'JSON' && object.name !== 'console')) return undefined;
  return ['promise-in-text', `passed to ${object.name}.${memberName(callee) ?? ''}() without being awaited`];
}
