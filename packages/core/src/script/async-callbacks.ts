import type { Finding } from './findings.js';
import { functionFor, isTopLevel } from './own-functions.js';
import { gatheringMethod, isReturned, isUnusedVariable, type PromiseCalls } from './promise-calls.js';
import type { SyntaxIndex } from './syntax-index.js';
import { memberName, outermost, unwrapped, walk, type Node, type NodeOf, type Visit } from './syntax.js';

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
  const found = index.calls.flatMap((visit) => asyncCallback(visit, index, promises) ?? []);
  if (found.length === 0) return [];
  // A method of the script's own objects may have the name of a list method, and may wait for the promises.
  const own = ownMembers(index);
  return found.filter(({ method }) => !own.has(method)).map(({ finding }) => finding);
}

interface Found {
  readonly method: string;
  readonly finding: Finding;
}

function asyncCallback(visit: Visit, index: SyntaxIndex, promises: PromiseCalls): Found | undefined {
  const given = methodOf(visit);
  if (given === undefined) return undefined;
  const { method, callback } = given;
  const leavesWork = promises.leavesWork(callback);
  if (!leavesWork && functionFor(callback, index)?.async !== true) return undefined;
  const finding = judge(method, { leavesWork, lost: lostList(visit, index) });
  return finding === undefined ? undefined : { method, finding: { ...finding, offset: callback.start } };
}

/** The list method that a call uses, and the callback of this method. Includes `Array.from(list, callback)`. */
function methodOf({ node }: Visit): { method: string; callback: Node } | undefined {
  if (node.type !== 'CallExpression') return undefined;
  const callee = unwrapped(node.callee);
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
  return methodOf(visit) !== undefined;
}

interface GivenFunction {
  readonly leavesWork: boolean;
  /** The consequence for the promises in the list that the method returns; undefined if they may be awaited. */
  readonly lost: string | undefined;
}

function judge(method: string, { leavesWork, lost }: GivenFunction): Omit<Finding, 'offset'> | undefined {
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
  if (call === undefined || methodOf(call)?.method !== 'map') return false;
  const { key, parent } = outermost(call);
  return key === 'arguments' && parent !== undefined && gatheringMethod(parent.node) !== '';
}

/**
 * Names of members that are not built in but may exist on any object: the script's own members, and each part of a
 * tool's name.
 */
export function knownMembers(index: SyntaxIndex, toolNames: readonly string[]): Set<string> {
  return new Set([...ownMembers(index), ...toolNames.flatMap((name) => name.split('.'))]);
}

/** Names of the members that the script itself defines: in its objects and classes, and by assignment. */
function ownMembers({ program }: SyntaxIndex): ReadonlySet<string> {
  const names = new Set<string>();
  walk(program, ({ node, parent, key }) => {
    if (node.type === 'Identifier' && key === 'key' && parent?.node.type !== 'TSPropertySignature')
      names.add(node.name);
    if (node.type === 'AssignmentExpression' && node.left.type === 'MemberExpression')
      names.add(memberName(node.left as NodeOf<'MemberExpression'>) ?? '');
  });
  return names;
}
