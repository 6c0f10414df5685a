import { blank, type Edit } from '../syntax/source-text.js';
import type { SyntaxIndex } from '../syntax/syntax-index.js';
import { memberName, innerExpression, type Node, type Visit } from '../syntax/syntax.js';
import { isConstant } from '../syntax/tool-calls.js';
import { treeRepair, type TreeRepair } from './tree-repair.js';

const STARTING = new Set(['setTimeout', 'setInterval']);

/** Removes `.unref()` and `.ref()` of timers: in a script, a timer is a number and keeps no process alive. */
export function repairTimers(index: SyntaxIndex, text: string): TreeRepair | undefined {
  const edits = index.calls.flatMap((visit) => withoutReference(visit, index, text));
  const message = '`.ref()` and `.unref()` of timers were removed: a timer does not keep a script from ending.';
  return edits.length === 0 ? undefined : treeRepair('repair-timer', message, edits);
}

function withoutReference({ node }: Visit, index: SyntaxIndex, text: string): Edit[] {
  if (node.type !== 'CallExpression' || node.arguments.length > 0) return [];
  const callee = innerExpression(node.callee);
  if (callee.type !== 'MemberExpression' || !/^(?:un)?ref$/u.test(memberName(callee) ?? '')) return [];
  if (!isTimer(innerExpression(callee.object), index)) return [];
  const start = callee.object.end;
  return [{ start, end: node.end, text: blank(text.slice(start, node.end)) }];
}

function isTimer(node: Node, index: SyntaxIndex): boolean {
  if (node.type === 'Identifier') {
    const declarator = isConstant(index, node.name) ? index.declared.get(node.name)?.[0]?.parent?.node : undefined;
    const value =
      declarator?.type === 'VariableDeclarator' && declarator.init !== null
        ? innerExpression(declarator.init)
        : undefined;
    return value !== undefined && value.type !== 'Identifier' && isTimer(value, index);
  }
  if (node.type !== 'CallExpression' || node.callee.type !== 'Identifier') return false;
  return STARTING.has(node.callee.name) && !index.declared.has(node.callee.name);
}
