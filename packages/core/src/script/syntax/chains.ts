import { memberName, innerExpression, type Node } from './syntax.js';

/** Members and calls that are chained to each other: `a.b(c).d` is the chain of `a.b(c)` plus one member. */
export interface Chain {
  /** The name of the variable at the start of the chain; empty if the chain does not start with a variable. */
  readonly root: string;
  readonly isThis: boolean;
  /** True if the chain contains no call. */
  readonly isPath: boolean;
  /** True if the chain contains a member whose name is known. */
  readonly isNamed: boolean;
  readonly name: string | undefined;
  readonly inner: Chain | undefined;
}

/** The chains of one tree. This class visits each node only once, so a chain of n members costs n steps and not n². */
export class Chains {
  /** The chain of each node. An inner chain precedes the chains that contain it. */
  readonly #chains = new Map<Node, Chain>();

  of(expression: Node): Chain {
    const open: Node[] = [];
    let node = innerExpression(expression);
    let chain = this.#chains.get(node);
    while (chain === undefined) {
      const inner = innerNode(node);
      if (inner === undefined) chain = this.#keep(node, beginning(node));
      else {
        open.push(node);
        node = inner;
        chain = this.#chains.get(node);
      }
    }
    for (let next = open.pop(); next !== undefined; next = open.pop())
      chain = this.#keep(next, extendedChain(chain, next));
    return chain;
  }

  /** The chains that contain a member with one of the names. */
  naming(names: ReadonlySet<string>): ReadonlySet<Chain> {
    const chains = new Set<Chain>();
    for (const chain of this.#chains.values()) {
      const isNamed = chain.name !== undefined && names.has(chain.name);
      if (isNamed || (chain.inner !== undefined && chains.has(chain.inner))) chains.add(chain);
    }
    return chains;
  }

  #keep(node: Node, chain: Chain): Chain {
    this.#chains.set(node, chain);
    return chain;
  }
}

function innerNode(node: Node): Node | undefined {
  switch (node.type) {
    case 'MemberExpression':
      return innerExpression(node.object);
    case 'CallExpression':
      return innerExpression(node.callee);
    case 'AwaitExpression':
      return innerExpression(node.argument);
    default:
      return undefined;
  }
}

function beginning(node: Node): Chain {
  return {
    root: node.type === 'Identifier' ? node.name : '',
    isThis: node.type === 'ThisExpression',
    isPath: true,
    isNamed: false,
    name: undefined,
    inner: undefined,
  };
}

function extendedChain(inner: Chain, node: Node): Chain {
  const name = node.type === 'MemberExpression' ? memberName(node) : undefined;
  return {
    root: inner.root,
    isThis: inner.isThis,
    isPath: inner.isPath && node.type !== 'CallExpression',
    isNamed: inner.isNamed || name !== undefined,
    name,
    inner,
  };
}
