import { WITHOUT_AWAIT, isChained, whereItGoes } from './promise-rules.js';
import type { SyntaxIndex } from './syntax-index.js';
import { isFunction } from './syntax-index.js';
import { isTransparent } from './syntax.js';
import { findToolCalls } from './tool-calls.js';
import type { TreeRepair } from './tree-repair.js';
import type { Visit } from './walk.js';

/**
 * Awaits the tool calls that stand as statements: a call that nobody waits for is aborted when the script ends,
 * so its effect would silently never happen. `void tools.x()` says that this is meant.
 */
export function repairFloating(index: SyntaxIndex): TreeRepair | undefined {
  const floating = findToolCalls(index).flatMap(({ visit, tool }) => {
    const chain = chainOf(visit);
    return isThrownAway(whereItGoes(visit).holder) && !WITHOUT_AWAIT.has(tool) && mayAwait(chain)
      ? [{ start: chain.node.start, tool }]
      : [];
  });
  if (floating.length === 0) return undefined;
  return {
    edits: floating.map(({ start }) => ({ start, end: start, text: 'await ' })),
    notes: floating.map(({ start, tool }) => ({
      code: 'repair-floating-call',
      message:
        `Nothing waited for tools.${tool}(); it is awaited. Write \`await tools.${tool}(…)\`, or \`void tools.${tool}(…)\` ` +
        'for a call that may be aborted when the script ends.',
      severity: 'warning',
      offset: start,
    })),
  };
}

/** `whereItGoes` passes the last part of a sequence on: what it stops at is another part. */
function isThrownAway(holder: Visit | undefined): boolean {
  return holder?.node.type === 'ExpressionStatement' || holder?.node.type === 'SequenceExpression';
}

/** The call with what is chained to it: `tools.x().then(…).catch(…)`. */
function chainOf(call: Visit): Visit {
  let chain = call;
  for (;;) {
    const holder = chain.parent;
    if (holder === undefined) return chain;
    if (isTransparent(holder.node)) chain = holder;
    else if (isChained(holder, chain)) chain = holder.parent as Visit;
    else return chain;
  }
}

function mayAwait({ parent }: Visit): boolean {
  for (let at = parent; at !== undefined; at = at.parent) {
    if (isFunction(at.node)) return (at.node as { async?: boolean }).async === true;
    if (at.node.type === 'StaticBlock' || at.node.type === 'PropertyDefinition') return false;
  }
  return true;
}
