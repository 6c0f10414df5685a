import type { Finding } from './findings.js';
import type { SyntaxIndex } from './syntax-index.js';
import { isFunction } from './syntax-index.js';
import { memberName, unwrapped } from './syntax.js';
import type { Node, NodeOf } from './syntax.js';
import { outermost, walk, type Visit } from './walk.js';

/** They take the promise of an async function for its answer. */
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

/** Methods of lists that are given async functions and do not wait for them. */
export function findAsyncCallbacks(index: SyntaxIndex): Finding[] {
  const found = index.calls.flatMap((visit) => asyncCallback(visit, index) ?? []);
  if (found.length === 0) return [];
  // The script's own objects may have methods of these names that wait.
  const own = ownMembers(index);
  return found.filter(({ method }) => !own.has(method)).map(({ finding }) => finding);
}

interface Found {
  readonly method: string;
  readonly finding: Finding;
}

function asyncCallback(visit: Visit, index: SyntaxIndex): Found | undefined {
  const { node } = visit;
  if (node.type !== 'CallExpression') return undefined;
  const callee = unwrapped(node.callee);
  const method = callee.type === 'MemberExpression' ? (memberName(callee) ?? '') : '';
  if (method !== 'forEach' && !MAPPING.has(method) && !TESTING.has(method)) return undefined;
  const callback = functionFor(node.arguments[0], index);
  if (callback?.async !== true) return undefined;
  const finding = judge(method, visit, callback);
  return finding === undefined ? undefined : { method, finding: { ...finding, offset: node.arguments[0]!.start } };
}

function judge(method: string, visit: Visit, callback: Node): Omit<Finding, 'offset'> | undefined {
  if (method === 'forEach') {
    return {
      severity: waits(callback) ? 'error' : 'warning',
      code: 'async-foreach',
      message: `\`forEach\` does not wait for an async function. Use \`for (const item of items) { await … }\` or ${GATHER}.`,
    };
  }
  if (TESTING.has(method)) {
    const message = `\`${method}\` does not wait for an async function: its promise counts as true. Await the answers first, with ${GATHER}.`;
    return { severity: 'error', code: 'async-predicate', message };
  }
  const lost = lostList(visit);
  if (lost === undefined || !waits(callback)) return undefined;
  const message = `\`${method}\` with an async function gives a list of promises, ${lost}. Use ${GATHER}.`;
  return { severity: 'error', code: 'async-map', message };
}

/** What becomes of a list of promises that nobody waits for. */
function lostList(visit: Visit): string | undefined {
  const { parent } = outermost(visit);
  switch (parent?.node.type) {
    case 'ExpressionStatement':
      return 'and nothing waits for them';
    case 'AwaitExpression':
      return 'and `await` does not wait for the items of a list';
    case 'ReturnStatement':
      return isTopLevel(parent) ? 'which a result cannot hold' : undefined;
    default:
      return undefined;
  }
}

export function isTopLevel(visit: Visit): boolean {
  for (let at = visit.parent; at !== undefined; at = at.parent) if (isFunction(at.node)) return false;
  return true;
}

export type FunctionNode = Extract<Node, { async: boolean; params: unknown }>;

/** The function that an argument is: written there, or the one that its name always stands for. */
export function functionFor(
  argument: Node | undefined,
  { declared, references }: SyntaxIndex,
): FunctionNode | undefined {
  if (argument === undefined) return undefined;
  if (argument.type !== 'Identifier') return isFunction(argument) ? (argument as FunctionNode) : undefined;
  const [only, ...others] = declared.get(argument.name) ?? [];
  if (only?.key !== 'id' || others.length > 0) return undefined;
  const isChanged = (references.get(argument.name) ?? []).some(
    ({ key, parent }) => key === 'left' && parent?.node.type === 'AssignmentExpression',
  );
  const holder = only.parent?.node;
  const made = holder?.type === 'VariableDeclarator' ? (holder.init ?? undefined) : holder;
  return made !== undefined && !isChanged && isFunction(made) ? (made as FunctionNode) : undefined;
}

/** Whether something is left to do after the function has given its promise. */
function waits(callback: Node): boolean {
  let found = false;
  walk(callback as never, ({ node }) => {
    found ||= node.type === 'AwaitExpression' || isToolCall(node);
  });
  return found;
}

function isToolCall(node: Node): boolean {
  if (node.type !== 'CallExpression') return false;
  let at: Node = unwrapped(node.callee);
  while (at.type === 'MemberExpression') at = unwrapped(at.object);
  return at.type === 'Identifier' && at.name === 'tools';
}

/** Members that are no built-in's, whatever holds them: the script's own, and each part of a tool's name. */
export function knownMembers(index: SyntaxIndex, toolNames: readonly string[]): Set<string> {
  return new Set([...ownMembers(index), ...toolNames.flatMap((name) => name.split('.'))]);
}

/** Names of the members that the script itself writes: of its objects and classes, and by assignment. */
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
