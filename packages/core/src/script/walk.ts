import { visitorKeys } from 'oxc-parser';
import { isTransparent, type Node } from './syntax.js';

/** A node with the path to it: the parent and the parent's key that holds it. */
export interface Visit {
  readonly node: Node;
  readonly key: string;
  readonly parent: Visit | undefined;
}

/** The expression including the type-only nodes around it. */
export function outermost(visit: Visit): Visit {
  let at = visit;
  while (at.parent !== undefined && isTransparent(at.parent.node)) at = at.parent;
  return at;
}

/** Whether the place is assigned a value. */
export function isWritten(visit: Visit): boolean {
  const { key, parent } = outermost(visit);
  switch (parent?.node.type) {
    case 'AssignmentExpression':
    case 'ForOfStatement':
    case 'ForInStatement':
      return key === 'left';
    case 'UpdateExpression':
      return true;
    // The left side of `[a.b] = …` and `({ x: a.b } = …)`.
    case 'ArrayPattern':
    case 'RestElement':
    case 'AssignmentPattern':
      return true;
    case 'Property':
      return parent.parent?.node.type === 'ObjectPattern';
    default:
      return false;
  }
}

/** Visits every node in source order, parents first. Not recursive: a deep tree costs memory, not stack. */
export function walk(program: Node, enter: (visit: Visit) => void): void {
  const open: Visit[] = [{ node: program, key: '', parent: undefined }];
  for (let visit = open.pop(); visit !== undefined; visit = open.pop()) {
    enter(visit);
    pushChildren(visit, open);
  }
}

function pushChildren(parent: Visit, open: Visit[]): void {
  const members = parent.node as unknown as Record<string, unknown>;
  const keys = visitorKeys[parent.node.type] ?? [];
  for (let index = keys.length - 1; index >= 0; index--) {
    const key = keys[index] as string;
    const child = members[key];
    if (Array.isArray(child)) {
      for (let place = child.length - 1; place >= 0; place--) {
        if (child[place] !== null) open.push({ node: child[place] as Node, key, parent });
      }
    } else if (child !== null && child !== undefined) open.push({ node: child as Node, key, parent });
  }
}
