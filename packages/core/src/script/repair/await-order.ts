import { functionAround, functionFor } from '../syntax/own-functions.js';
import { CHAINING, type PromiseCall, type PromiseCalls } from '../analyse/promise-calls.js';
import { isFunction, nameUse, type SyntaxIndex } from '../syntax/syntax-index.js';
import { isWritten, memberName, innerExpression, walk, type Node, type Visit } from '../syntax/syntax.js';
import { memberPath } from '../syntax/tool-calls.js';

/** Methods that change their list, set or map. */
const CHANGING = new Set([
  'add',
  'clear',
  'delete',
  'fill',
  'pop',
  'push',
  'reverse',
  'set',
  'shift',
  'sort',
  'splice',
  'unshift',
]);

/**
 * Decides whether an unawaited promise may be awaited where it is created. With `await`, the promise's callbacks run
 * before the statements that follow. So the callbacks must use nothing that these statements declare or change, and
 * must not wait for an effect of these statements.
 */
export class AwaitOrder {
  readonly #index: SyntaxIndex;
  readonly #promises: PromiseCalls;
  readonly #calledFunctions: ReadonlyMap<Node, Node>;
  readonly #knownUses = new Map<Node, Later>();
  readonly #changes = new Map<string, readonly Visit[]>();
  #makesPromises: boolean | undefined;

  constructor(index: SyntaxIndex, promises: PromiseCalls) {
    this.#index = index;
    this.#promises = promises;
    this.#calledFunctions = new Map(
      promises.all.flatMap(({ node, fn }) => (fn === undefined ? [] : [[node, fn] as const])),
    );
  }

  /**
   * Whether the order of effects is kept if the promise is awaited. `chain`: the call including the calls chained to
   * it.
   */
  isKept({ node, tool }: PromiseCall, chain: Visit): boolean {
    if (tool !== undefined && chain.node === node) return true;
    if (this.#waitsForOthers()) return false;
    const later = this.#laterUses(chain.node);
    if (later.isEndless) return false;
    const from = loopAround(chain).node.start;
    return [...later.names].every((name) => this.#isSettled(name, later, { at: chain.node.start, from }));
  }

  /** Whether the script creates promises that it resolves itself: such a promise may wait for any statement. */
  #waitsForOthers(): boolean {
    this.#makesPromises ??= this.#index.calls.some(({ node }) => isOwnPromise(node));
    return this.#makesPromises;
  }

  /**
   * Whether the code after the call neither declares nor changes the variable `name`. `at`: the start of the call.
   * `from`: the start of the outermost loop around the call, or of the call itself if no loop surrounds it.
   */
  #isSettled(name: string, later: Later, { at, from }: { at: number; from: number }): boolean {
    const declared = this.#index.declared.get(name) ?? [];
    if (declared.some(({ node, parent }) => node.start > at && parent?.node.type !== 'FunctionDeclaration'))
      return false;
    return this.#variableChanges(name).every((change) => {
      const around = functionsAround(change);
      if (around.some(({ node }) => later.functions.has(node))) return true;
      // The change is an effect of another promise. Such effects have no fixed order, but a loop may wait for one.
      if (around.some((fn) => isChainedCallback(fn) || this.#promises.leavesWork(fn.node))) return !later.hasLoop;
      return around.length === 0 && change.node.start < from;
    });
  }

  #variableChanges(name: string): readonly Visit[] {
    let changes = this.#changes.get(name);
    if (changes === undefined)
      this.#changes.set(name, (changes = (this.#index.references.get(name) ?? []).filter(changesIt)));
    return changes;
  }

  /**
   * Collects the variables and functions that an expression uses, directly or in the script's own functions that the
   * expression names or calls.
   */
  #laterUses(root: Node): Later {
    const later: Later = {
      names: new Set(),
      functions: new Set(),
      called: new Set(),
      hasLoop: false,
      isEndless: false,
    };
    const open = [root];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const own = this.#usedIn(next);
      later.hasLoop ||= own.hasLoop;
      later.isEndless ||= own.isEndless;
      for (const fn of own.functions) later.functions.add(fn);
      const named = [...own.names].filter((name) => !later.names.has(name));
      for (const name of named) later.names.add(name);
      const functions = named.map((name) => functionFor(this.#firstUse(name), this.#index));
      for (const fn of [...functions, ...own.called]) {
        if (fn === undefined || later.called.has(fn)) continue;
        later.called.add(fn);
        open.push(fn);
      }
    }
    return later;
  }

  #firstUse(name: string): Node | undefined {
    return this.#index.references.get(name)?.[0]?.node;
  }

  #usedIn(root: Node): Later {
    const use = this.#knownUses.get(root);
    if (use !== undefined) return use;
    const own = usedIn(root, this.#calledFunctions);
    this.#knownUses.set(root, own);
    return own;
  }
}

/**
 * Facts about code that runs later. `names`: the outer variables that the code uses. `functions`: the functions inside
 * the code.
 */
interface Later {
  readonly names: Set<string>;
  readonly functions: Set<Node>;
  /** The script's own functions that this code calls, wherever they are defined. */
  readonly called: Set<Node>;
  hasLoop: boolean;
  /** True if the code contains a loop that never ends: `while (true) { … }` without an exit. */
  isEndless: boolean;
}

function usedIn(root: Node, functionsByCall: ReadonlyMap<Node, Node>): Later {
  const names = new Set<string>();
  const declared = new Set<string>();
  const functions = new Set<Node>();
  const called = new Set<Node>();
  let hasLoop = false;
  let isEndless = false;
  walk(root as never, (visit) => {
    const { node } = visit;
    if (isFunction(node)) functions.add(node);
    const fn = functionsByCall.get(node);
    if (fn !== undefined) called.add(fn);
    if (node.type === 'WhileStatement' || node.type === 'DoWhileStatement' || node.type === 'ForStatement') {
      hasLoop = true;
      isEndless ||= isAlways(node.test) && !isLeft(node);
    }
    if (node.type !== 'Identifier') return;
    const use = nameUse(visit);
    if (use === 'declared') declared.add(node.name);
    else if (use === 'referenced') names.add(node.name);
  });
  for (const name of declared) names.delete(name);
  return { names, functions, called, hasLoop, isEndless };
}

/** Whether the condition of a loop always holds: `while (true)`, `for (;;)`. */
function isAlways(test: Node | null): boolean {
  return test === null || (test.type === 'Literal' && Boolean(test.value));
}

function isLeft(loop: Node): boolean {
  let ends = false;
  walk(loop as never, ({ node }) => {
    ends ||= node.type === 'BreakStatement' || node.type === 'ReturnStatement' || node.type === 'ThrowStatement';
  });
  return ends;
}

/** The outermost loop around a node within the node's function, or the node itself if no loop surrounds it. */
function loopAround(visit: Visit): Visit {
  let loop = visit;
  for (let at = visit.parent; at !== undefined && !isFunction(at.node); at = at.parent)
    if (/^(?:For|While|DoWhile)/u.test(at.node.type)) loop = at;
  return loop;
}

function functionsAround(visit: Visit): Visit[] {
  const around: Visit[] = [];
  for (let at = functionAround(visit); at !== undefined; at = functionAround(at)) around.push(at);
  return around;
}

/** Whether the function is a callback of a chained call: `.then((one) => …)`. */
function isChainedCallback({ key, parent }: Visit): boolean {
  if (key !== 'arguments' || parent?.node.type !== 'CallExpression') return false;
  const callee = innerExpression(parent.node.callee);
  return callee.type === 'MemberExpression' && CHAINING.has(memberName(callee) ?? '');
}

/**
 * Whether the use assigns the variable, assigns or deletes a member of its value, or calls a method that changes this
 * value. The update of a `for` loop does not count, because the counter belongs to the loop.
 */
function changesIt(use: Visit): boolean {
  const { visit } = memberPath(use);
  const { key, parent, node } = visit;
  if (isWritten(visit)) return parent?.key !== 'update';
  if (parent?.node.type === 'UnaryExpression') return parent.node.operator === 'delete';
  if (key !== 'callee' || node.type !== 'MemberExpression') return false;
  return CHANGING.has(memberName(node) ?? '');
}

/** Whether the node is `Promise.withResolvers()`, or a `new Promise(…)` that anything but a timer may settle. */
function isOwnPromise(node: Node): boolean {
  if (node.type === 'NewExpression')
    return node.callee.type === 'Identifier' && node.callee.name === 'Promise' && !isSleep(node.arguments[0]);
  if (node.type !== 'CallExpression') return false;
  const callee = innerExpression(node.callee);
  return callee.type === 'MemberExpression' && memberName(callee) === 'withResolvers';
}

/** Whether the executor gives its parameters to timers only: `(resolve) => setTimeout(resolve, 100)`. */
function isSleep(executor: Node | undefined): boolean {
  if (executor?.type !== 'ArrowFunctionExpression' && executor?.type !== 'FunctionExpression') return false;
  const settlers = new Set(executor.params.map((param) => (param.type === 'Identifier' ? param.name : undefined)));
  if (settlers.size === 0 || settlers.has(undefined)) return false;
  let isKept = true;
  let waits = false;
  walk(executor.body as never, (visit) => {
    const { node } = visit;
    if (node.type !== 'Identifier' || !settlers.has(node.name) || nameUse(visit) !== 'referenced') return;
    if (isTimersOwn(visit)) waits = true;
    else isKept = false;
  });
  return waits && isKept;
}

/** Whether the use is the callback of a timer, or the callee of a call directly inside of such a callback. */
function isTimersOwn(use: Visit): boolean {
  if (use.key === 'callee') {
    const fn = functionAround(use);
    return fn !== undefined && isTimerCallback(fn);
  }
  return isTimerCallback(use);
}

function isTimerCallback({ key, parent, node }: Visit): boolean {
  if (key !== 'arguments' || parent?.node.type !== 'CallExpression') return false;
  const { callee, arguments: args } = parent.node;
  return callee.type === 'Identifier' && callee.name === 'setTimeout' && args[0] === node;
}
