import {
  functionCalls,
  functionAround,
  functionFor,
  isTopLevel,
  rootNode,
  type FunctionNode,
} from '../syntax/own-functions.js';
import type { SyntaxIndex } from '../syntax/syntax-index.js';
import {
  isCompound,
  isTransparent,
  isWritten,
  memberName,
  innerExpression,
  type Node,
  type NodeOf,
  type Visit,
} from '../syntax/syntax.js';
import { toolNaming, type ToolCall } from '../syntax/tool-calls.js';

/**
 * Calls that need no `await`: `exec` returns a handle, and a task is cancelled even if the script does not await the
 * cancellation.
 */
const WITHOUT_AWAIT = new Set(['spawn.exec', 'spawn.cancel']);
const GATHERING = new Set(['all', 'allSettled', 'any', 'race']);

/** A call that returns a promise. Its work is aborted if the script ends before the work does. */
export interface PromiseCall {
  readonly visit: Visit;
  readonly node: NodeOf<'CallExpression'>;
  /** The name in messages: `tools.readFile`, `save`, `Promise.all`; empty for a function without a name. */
  readonly name: string;
  /** The tool, if one is called directly. */
  readonly tool: string | undefined;
  /** The script's own function, if one is called. */
  readonly fn?: Node | undefined;
}

/**
 * Finds the calls whose promises represent work: calls to tools, `Promise.all(…)`, and calls to the script's own
 * functions that return such a promise, or are async and make such a call.
 */
export class PromiseCalls {
  /** All calls whose promises represent work, in source order. */
  readonly all: readonly PromiseCall[];
  readonly #index: SyntaxIndex;
  /** Functions that make one of the calls in `all`, directly or in nested functions. */
  readonly #making = new Set<Node>();
  readonly #awaiting = new Set<Node>();
  readonly #giving = new Set<Node>();
  readonly #toolNamed: (expression: Node) => string | undefined;

  constructor(index: SyntaxIndex, toolCalls: readonly ToolCall[]) {
    this.#index = index;
    this.#toolNamed = toolNaming(index);
    for (const visit of index.awaits) markAround(visit, this.#awaiting);
    this.all = this.#find(toolCalls);
  }

  /**
   * Whether a function that is passed to a method leaves unfinished work when it returns: a tool, a function whose
   * promise represents work, or an async function that awaits.
   */
  leavesWork(callback: Node | undefined): boolean {
    if (callback === undefined) return false;
    const fn = functionFor(callback, this.#index);
    if (fn === undefined) return this.#toolNamed(innerExpression(callback)) !== undefined;
    return this.#giving.has(fn) || (fn.async && this.#awaiting.has(fn));
  }

  #find(toolCalls: readonly ToolCall[]): PromiseCall[] {
    const open: PromiseCall[] = [
      ...toolCalls
        .filter(({ tool }) => !WITHOUT_AWAIT.has(tool))
        .map((call) => ({ ...call, name: `tools.${call.tool}` })),
      ...this.#index.calls.flatMap((visit) => [...gathering(visit), ...toolByKey(visit, this.#index)]),
      ...this.#index.awaits.flatMap((visit) => givenFunction(visit, this.#index)),
    ];
    const calls = new Map<Node, PromiseCall>();
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (calls.has(next.node)) continue;
      calls.set(next.node, next);
      for (const fn of this.#newlyGiving(next.visit))
        open.push(...functionCalls(fn, this.#index).map((call) => ownCall(call, fn.node)));
    }
    return [...calls.values()].toSorted((left, right) => left.node.start - right.node.start);
  }

  /** Returns the functions that are now known to return a promise of work, because they contain this call. */
  #newlyGiving(call: Visit): Visit[] {
    const around = markAround(call, this.#making).filter(({ node }) => isAsync(node));
    const returned = returningFunction(call);
    return (returned === undefined ? around : [...around, returned]).filter(({ node }) => {
      const isNew = !this.#giving.has(node) && !isGenerator(node);
      if (isNew) this.#giving.add(node);
      return isNew;
    });
  }
}

/**
 * Marks the functions around a node, and returns those that were not marked before. The functions around a marked
 * function are already marked.
 */
function markAround(visit: Visit, marked: Set<Node>): Visit[] {
  const fresh: Visit[] = [];
  for (let at = functionAround(visit); at !== undefined && !marked.has(at.node); at = functionAround(at)) {
    marked.add(at.node);
    fresh.push(at);
  }
  return fresh;
}

function returningFunction(call: Visit): Visit | undefined {
  const { holder, child } = whereItGoes(call);
  if (holder?.node.type === 'ReturnStatement') return functionAround(holder);
  return holder?.node.type === 'ArrowFunctionExpression' && child.key === 'body' ? holder : undefined;
}

function ownCall(visit: Visit, fn: Node): PromiseCall {
  const node = visit.node as NodeOf<'CallExpression'>;
  return { visit, node, name: calledName(innerExpression(node.callee)), tool: undefined, fn };
}

/** The name of the callee: `save`, `api.save`; empty if the callee is not a name. */
function calledName(callee: Node): string {
  if (callee.type === 'Identifier') return callee.name;
  if (callee.type === 'ThisExpression') return 'this';
  if (callee.type !== 'MemberExpression') return '';
  const object = calledName(innerExpression(callee.object));
  return object === '' ? '' : `${object}.${memberName(callee) ?? ''}`;
}

/** The call, if it is `Promise.all(…)` or a similar call; otherwise empty. */
function gathering(visit: Visit): PromiseCall[] {
  const method = gatheringMethod(visit.node);
  const node = visit.node as NodeOf<'CallExpression'>;
  return method === '' ? [] : [{ visit, node, name: `Promise.${method}`, tool: undefined }];
}

/** The call, if it calls a tool by a computed name: `tools[name](…)`; otherwise empty. */
function toolByKey(visit: Visit, { declared }: SyntaxIndex): PromiseCall[] {
  const node = visit.node as NodeOf<'CallExpression'>;
  const callee = node.type === 'CallExpression' ? innerExpression(node.callee) : undefined;
  if (callee?.type !== 'MemberExpression' || memberName(callee) !== undefined || declared.has('tools')) return [];
  const root = rootNode(callee);
  const isTool = root.type === 'Identifier' && root.name === 'tools';
  return isTool ? [{ visit, node, name: 'tools[…]', tool: undefined }] : [];
}

/**
 * The call in `await task()`, if `task` is a parameter. The function that the parameter holds probably calls a tool.
 */
function givenFunction(visit: Visit, { declared }: SyntaxIndex): PromiseCall[] {
  const node = visit.node.type === 'AwaitExpression' ? visit.node.argument : undefined;
  if (node?.type !== 'CallExpression' || node.callee.type !== 'Identifier') return [];
  const { name } = node.callee;
  const isParameter = (declared.get(name) ?? []).some(({ key }) => key === 'params');
  return isParameter ? [{ visit: { node, key: 'argument', parent: visit }, node, name, tool: undefined }] : [];
}

/** The `all` in `Promise.all(…)`; empty for other calls. */
export function gatheringMethod(node: Node): string {
  const callee = node.type === 'CallExpression' ? innerExpression(node.callee) : undefined;
  if (callee?.type !== 'MemberExpression' || callee.object.type !== 'Identifier') return '';
  const method = memberName(callee) ?? '';
  return callee.object.name === 'Promise' && GATHERING.has(method) ? method : '';
}

function isAsync(node: Node): boolean {
  return (node as FunctionNode).async;
}

function isGenerator(node: Node): boolean {
  return (node as { generator?: boolean | undefined }).generator === true;
}

export const CHAINING: ReadonlySet<string> = new Set(['then', 'catch', 'finally']);

/**
 * Finds the node that uses the promise, and returns it as `holder`. Follows the promise outwards through expressions
 * that pass it on (assertions, `?:`, `&&`, `.then()`).
 */
export function whereItGoes(call: Visit): { holder: Visit | undefined; child: Visit } {
  let child = call;
  for (;;) {
    const holder = child.parent;
    if (holder === undefined) return { holder, child };
    const { node } = holder;
    const passes =
      isTransparent(node) ||
      (node.type === 'ConditionalExpression' && child.key !== 'test') ||
      (node.type === 'LogicalExpression' && child.key === 'right') ||
      (node.type === 'SequenceExpression' && node.expressions.at(-1) === child.node);
    if (passes) child = holder;
    else if (isChained(holder, child)) child = holder.parent as Visit;
    else return { holder, child };
  }
}

/** The call including the calls chained to it: `tools.x().then(…).catch(…)`. */
export function callChain(call: Visit): Visit {
  let chain = call;
  for (;;) {
    const holder = chain.parent;
    if (holder === undefined) return chain;
    if (isTransparent(holder.node)) chain = holder;
    else if (isChained(holder, chain)) chain = holder.parent as Visit;
    else return chain;
  }
}

function isChained(holder: Visit, child: Visit): boolean {
  const { node, key, parent } = holder;
  if (node.type !== 'MemberExpression' || child.key !== 'object' || !CHAINING.has(memberName(node) ?? '')) return false;
  return key === 'callee' && parent?.node.type === 'CallExpression';
}

/** Whether the variable that receives the value is never read: `const done = tools.x()`, `done = tools.x()`. */
export function isUnusedVariable({ node }: Visit, { references, declared, isCell }: SyntaxIndex): boolean {
  if (node.type === 'AssignmentExpression') {
    const { left, operator } = node;
    if (left.type !== 'Identifier' || operator !== '=' || isCell || declared.get(left.name)?.length !== 1) return false;
    return (references.get(left.name) ?? []).every((use) => isWritten(use) && isStatement(use.parent));
  }
  if (node.type !== 'VariableDeclarator' || node.id.type !== 'Identifier') return false;
  return (references.get(node.id.name) ?? []).length === 0;
}

function isStatement(visit: Visit | undefined): boolean {
  return visit?.parent?.node.type === 'ExpressionStatement';
}

/** Whether the script returns, at its top level, the object or list that contains the value. */
export function isReturned(part: Visit): boolean {
  const holder = outermostLiteral(part).parent;
  return holder?.node.type === 'ReturnStatement' && isTopLevel(holder);
}

/** The outermost object or list literal that the part belongs to. */
export function outermostLiteral(part: Visit): Visit {
  let at = part;
  while (at.parent !== undefined && isPartOfLiteral(at.parent.node)) at = at.parent;
  return at;
}

function isPartOfLiteral(node: Node): boolean {
  return node.type === 'Property' || isTransparent(node) || isCompound(node);
}
