import type { SyntaxIndex } from './syntax-index.js';
import { isTopLevel } from './own-functions.js';
import { isCompound, isTransparent, memberName } from './syntax.js';
import type { Visit } from './walk.js';

export const CHAINING: ReadonlySet<string> = new Set(['then', 'catch', 'finally']);

/**
 * Returns the place that uses the promise: follows it outwards through expressions that pass it on unchanged
 * (assertions, `?:`, `&&`, `.then()`).
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
export function chainOf(call: Visit): Visit {
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

/** Whether the variable is never read: `const done = tools.x()`. */
export function isUnusedVariable({ node }: Visit, { references }: SyntaxIndex): boolean {
  if (node.type !== 'VariableDeclarator' || node.id.type !== 'Identifier') return false;
  return (references.get(node.id.name) ?? []).length === 0;
}

/** Whether the script returns the object or list that contains a value, at its top level. */
export function isReturned(part: Visit): boolean {
  let at = part;
  while (at.node.type === 'Property' || isTransparent(at.node) || isCompound(at.node)) {
    if (at.parent === undefined) return false;
    at = at.parent;
  }
  return at.node.type === 'ReturnStatement' && isTopLevel(at);
}
