import { AwaitOrder } from './await-order.js';
import { functionAround } from '../syntax/own-functions.js';
import { callChain, isUnusedVariable, PromiseCalls, whereItGoes, type PromiseCall } from '../analyse/promise-calls.js';
import { isStartedEntry } from './entry.js';
import type { SyntaxIndex } from '../syntax/syntax-index.js';
import { findToolCalls } from '../syntax/tool-calls.js';
import type { TreeRepair } from './tree-repair.js';
import type { Visit } from '../syntax/syntax.js';

/**
 * Awaits calls that are statements or whose promise is never used: unawaited work is aborted when the script ends, so
 * its effect would be lost without an error. `void tools.x()` marks a deliberate call. A call is not repaired if
 * awaiting it would change the order of the script's effects.
 */
export function repairFloating(index: SyntaxIndex): TreeRepair | undefined {
  const promises = new PromiseCalls(index, findToolCalls(index));
  const order = new AwaitOrder(index, promises);
  const floating = promises.all.flatMap((call) => {
    const chain = callChain(call.visit);
    const isFloating = isThrownAway(whereItGoes(call.visit).holder, index) && mayAwait(chain);
    return isFloating && !isStartedEntry(call.visit, index) && order.isKept(call, chain)
      ? [{ call, start: chain.node.start }]
      : [];
  });
  if (floating.length === 0) return undefined;
  return {
    edits: floating.map(({ start }) => ({ start, end: start, text: 'await ' })),
    notes: floating.map(({ call, start }) => ({
      code: 'repair-floating-call',
      message: messageFor(call),
      severity: 'warning',
      offset: start,
    })),
  };
}

function messageFor({ name, tool }: PromiseCall): string {
  if (name === '')
    return 'Nothing waited for this call of a function. The call is now awaited. Write `await` before the call.';
  const write = `Nothing waited for ${name}(). The call is now awaited. Write \`await ${name}(…)\``;
  if (tool === undefined) return `${write}.`;
  return `${write}, or \`void ${name}(…)\` for a call that may be aborted when the script ends.`;
}

/**
 * Whether nothing uses the promise. `whereItGoes` follows only the last part of a sequence, so it stops at a sequence
 * only if the part's value is unused.
 */
function isThrownAway(holder: Visit | undefined, index: SyntaxIndex): boolean {
  if (holder?.node.type === 'ExpressionStatement' || holder?.node.type === 'SequenceExpression') return true;
  return holder !== undefined && isUnusedVariable(holder, index);
}

function mayAwait(chain: Visit): boolean {
  const fn = functionAround(chain);
  if (fn !== undefined && (fn.node as { async?: boolean | undefined }).async !== true) return false;
  for (let at = chain.parent; at !== undefined && at !== fn; at = at.parent)
    if (at.node.type === 'StaticBlock' || at.node.type === 'PropertyDefinition') return false;
  return true;
}
