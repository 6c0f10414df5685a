import { methodFindings, type Finding, type MethodFinding } from './findings.js';
import { functionFor, isTopLevel } from '../syntax/own-functions.js';
import { gatheringMethod, isReturned, isUnusedVariable, type PromiseCalls } from './promise-calls.js';
import type { SyntaxIndex } from '../syntax/syntax-index.js';
import { memberName, outermost, innerExpression, type Node, type Visit } from '../syntax/syntax.js';

/** List methods that would treat the promise of an async callback as the callback's result. */
const TESTING = new Set([
  'every',
  'filter',
  'find',
  'findIndex',
  'findLast',
  'findLastIndex',
  'some',
  'sort',
  'toSorted',
]);
const MAPPING = new Set(['map', 'flatMap']);
const GATHER = '`await Promise.all(items.map(async (item) => …))`';

/**
 * Reports calls of list methods with an async callback, or with a callback that starts asynchronous work: list methods
 * do not wait for their callbacks. A list of promises that the script may await is not reported.
 */
export function findAsyncCallbacks(index: SyntaxIndex, promises: PromiseCalls): Finding[] {
  // A method of the script's own objects may have the name of a list method, and may wait for the promises.
  return methodFindings(index, [], (visit) => asyncCallback(visit, index, promises));
}

function asyncCallback(visit: Visit, index: SyntaxIndex, promises: PromiseCalls): MethodFinding | undefined {
  const call = listMethod(visit);
  if (call === undefined) return undefined;
  const { method, callback } = call;
  const leavesWork = promises.leavesWork(callback);
  if (!leavesWork && functionFor(callback, index)?.async !== true) return undefined;
  const finding = judge(method, { leavesWork, lost: lostList(visit, index) });
  return finding && { method, finding: { ...finding, offset: callback.start } };
}

/** The list method that a call uses, and the callback of this method. Includes `Array.from(list, callback)`. */
function listMethod({ node }: Visit): { method: string; callback: Node } | undefined {
  if (node.type !== 'CallExpression') return undefined;
  const callee = innerExpression(node.callee);
  if (callee.type !== 'MemberExpression') return undefined;
  const method = memberName(callee) ?? '';
  const isFrom = method === 'from' && callee.object.type === 'Identifier' && callee.object.name === 'Array';
  const callback = node.arguments[isFrom ? 1 : 0];
  const isKnown = isFrom || method === 'forEach' || MAPPING.has(method) || TESTING.has(method);
  return isKnown && callback !== undefined ? { method, callback } : undefined;
}

/**
 * Whether the call passes a callback to a list method. List methods do not wait for the promises of their callbacks.
 */
export function isListMethod(visit: Visit): boolean {
  return listMethod(visit) !== undefined;
}

interface CallbackFacts {
  readonly leavesWork: boolean;
  /** The consequence for the promises in the list that the method returns; undefined if they may be awaited. */
  readonly lost: string | undefined;
}

function judge(method: string, { leavesWork, lost }: CallbackFacts): Omit<Finding, 'offset'> | undefined {
  if (method === 'forEach') {
    return {
      severity: leavesWork ? 'error' : 'warning',
      code: 'async-foreach',
      message: `\`forEach\` does not wait for the promises of its function. Use \`for (const item of items) { await … }\` or ${GATHER}.`,
    };
  }
  if (TESTING.has(method)) {
    const message = `\`${method}\` does not wait for the promise of its function, and uses the promise itself instead of the result. Await the results first, with ${GATHER}.`;
    return { severity: 'error', code: 'async-predicate', message };
  }
  if (lost === undefined || !leavesWork) return undefined;
  const message = `\`${method}\` returns a list of promises here, ${lost}. Use ${GATHER}.`;
  return { severity: 'error', code: 'async-map', message };
}

/** The consequence for a list of promises that nothing awaits; undefined if the promises may be awaited. */
function lostList(visit: Visit, index: SyntaxIndex): string | undefined {
  const { parent } = outermost(visit);
  switch (parent?.node.type) {
    case 'ExpressionStatement':
      return 'and nothing waits for them';
    case 'VariableDeclarator':
      return isUnusedVariable(parent, index) ? 'and nothing waits for them' : undefined;
    case 'AwaitExpression':
      return 'and `await` does not wait for the items of a list';
    case 'ReturnStatement':
      return isTopLevel(parent) ? 'which a result cannot hold' : undefined;
    case 'Property':
    case 'ArrayExpression':
      return isReturned(parent) ? 'which a result cannot hold' : undefined;
    case 'ArrowFunctionExpression':
      return isGatheredInside(parent) ? 'and `Promise.all` does not wait for lists inside of its list' : undefined;
    default:
      return undefined;
  }
}

/**
 * Whether the function returns an item of the list that `Promise.all` receives: `Promise.all(groups.map((ids) =>
 * ids.map(…)))`.
 */
function isGatheredInside(fn: Visit): boolean {
  const call = fn.key === 'arguments' ? fn.parent : undefined;
  if (call === undefined || listMethod(call)?.method !== 'map') return false;
  const { key, parent } = outermost(call);
  return key === 'arguments' && parent !== undefined && gatheringMethod(parent.node) !== '';
}
