import { literalMembers, literalValue } from '../syntax/literal.js';
import type { LiteralMembers } from '../../protocol/index.js';
import { type SyntaxIndex, isFunction } from '../syntax/syntax-index.js';
import { memberName, innerExpression, type Node, type NodeOf, type Visit } from '../syntax/syntax.js';
import { calledTool, type ToolCall } from '../syntax/tool-calls.js';

/** A planned call with an offset instead of a line and a column. */
export interface PlannedAt {
  readonly tool: string;
  readonly offset: number;
  readonly input?: unknown;
  readonly given: LiteralMembers | undefined;
  readonly repeated: boolean;
  readonly conditional: boolean;
}

const ONCE = new Set(['then', 'catch', 'finally']);

/** The tool calls in source order, with the facts that are known without running anything. */
export function planCalls(index: SyntaxIndex, calls: readonly ToolCall[]): PlannedAt[] {
  const circumstances = new Circumstances(index);
  return calls.filter(isToolCall).map((call) => {
    const { tool, argument } = calledTool(call);
    const literal = argument === undefined ? undefined : literalValue(argument);
    return {
      tool,
      offset: call.node.start,
      ...(literal === undefined ? {} : { input: literal.value }),
      given: argument === undefined ? undefined : literalMembers(argument),
      ...circumstances.of(call.visit),
    };
  });
}

/** Whether the call is a call to a tool. Queries about detached tasks are not. */
export function isToolCall({ tool }: ToolCall): boolean {
  return !tool.startsWith('spawn.') || tool === 'spawn.exec';
}

interface Circumstance {
  readonly repeated: boolean;
  readonly conditional: boolean;
}

/**
 * Determines whether a call is repeated or conditional. Follows the call outwards. If the source calls the surrounding
 * function only once, the search continues at that call.
 */
class Circumstances {
  readonly #index: SyntaxIndex;
  readonly #earlyReturns = new Map<Node, number>();

  constructor(index: SyntaxIndex) {
    this.#index = index;
    for (const visit of index.returns) this.#recordEarlyReturn(visit);
  }

  of(call: Visit): Circumstance {
    let repeated = false;
    let conditional = false;
    const entered = new Set<Node>();
    let at = call;
    while (at.parent !== undefined) {
      const parent: Visit = at.parent;
      repeated ||= repeats(parent.node, at.key);
      conditional ||= decides(parent.node, at.key) || this.#followsReturn(parent.node, at.node.start);
      if (!isFunction(parent.node)) at = parent;
      else if (entered.has(parent.node)) return { repeated: true, conditional };
      else {
        entered.add(parent.node);
        const caller = this.#functionCaller(parent);
        if (caller === 'many') repeated = true;
        if (caller === 'maybe') conditional = true;
        at = typeof caller === 'string' ? parent : caller;
      }
    }
    return { repeated, conditional };
  }

  #recordEarlyReturn(visit: Visit): void {
    let conditional = false;
    for (let at = visit; at.parent !== undefined; at = at.parent) {
      const { node } = at.parent;
      conditional ||= decides(node, at.key) || repeats(node, at.key);
      if (!isFunction(node) && node.type !== 'Program') continue;
      if (conditional && !this.#earlyReturns.has(node)) this.#earlyReturns.set(node, visit.node.start);
      return;
    }
  }

  #followsReturn(scope: Node, offset: number): boolean {
    const returnAt = this.#earlyReturns.get(scope);
    return returnAt !== undefined && returnAt < offset;
  }

  /**
   * The only call of a function; or the number of times that the function runs where it is written: once, perhaps
   * (`maybe`) or many times.
   */
  #functionCaller(visit: Visit): Visit | 'once' | 'maybe' | 'many' {
    const { node, key, parent } = visit;
    if (node.type === 'FunctionDeclaration') return this.#onlyCall(node.id?.name);
    if (parent?.node.type === 'VariableDeclarator' && key === 'init') {
      return this.#onlyCall(parent.node.id.type === 'Identifier' ? parent.node.id.name : undefined);
    }
    if (parent?.node.type === 'CallExpression' || parent?.node.type === 'NewExpression') {
      if (key === 'callee') return 'once';
      return calledBack(parent.node, node);
    }
    return 'many';
  }

  #onlyCall(name: string | undefined): Visit | 'many' {
    const references = name === undefined ? [] : (this.#index.references.get(name) ?? []);
    const [only, ...others] = references;
    if (only?.parent?.node.type !== 'CallExpression' || only.key !== 'callee' || others.length > 0) return 'many';
    return only.parent;
  }
}

function calledBack(
  call: NodeOf<'CallExpression'> | NodeOf<'NewExpression'>,
  callback: Node,
): 'once' | 'maybe' | 'many' {
  if (call.type === 'NewExpression') return 'once';
  const callee = innerExpression(call.callee);
  const name = callee.type === 'MemberExpression' ? (memberName(callee) ?? '') : '';
  if (!ONCE.has(name)) return 'many';
  return name === 'catch' || call.arguments[1] === callback ? 'maybe' : 'once';
}

function repeats(node: Node, key: string): boolean {
  switch (node.type) {
    case 'WhileStatement':
    case 'DoWhileStatement':
      return true;
    case 'ForStatement':
      return key !== 'init';
    case 'ForInStatement':
    case 'ForOfStatement':
      return key !== 'right';
    default:
      return false;
  }
}

function decides(node: Node, key: string): boolean {
  switch (node.type) {
    case 'IfStatement':
    case 'ConditionalExpression':
      return key !== 'test';
    case 'LogicalExpression':
      return key === 'right';
    case 'SwitchCase':
    case 'CatchClause':
      return true;
    case 'AssignmentPattern':
      return key === 'right';
    default:
      return false;
  }
}
