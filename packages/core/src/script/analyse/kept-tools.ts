import type { HeldCalls, KeptTools } from '../../protocol/index.js';
import type { Visit } from '../syntax/syntax.js';
import { isTopLevel } from '../syntax/own-functions.js';
import type { SyntaxIndex } from '../syntax/syntax-index.js';
import { calledTool, type ToolCall } from '../syntax/tool-calls.js';
import { isToolCall, type PlannedAt } from './plan.js';

/**
 * The calls that functions of earlier scripts may make, at the first use of each of their variables. Nothing is known
 * about their arguments, their number and their conditions. `own`: the script's own top-level variables.
 */
export function callsOfKept(index: SyntaxIndex, kept: KeptTools, own: ReadonlySet<string>): PlannedAt[] {
  return kept.flatMap(([name, tools]) => {
    const [use] = own.has(name) ? [] : (index.references.get(name) ?? []);
    if (use === undefined) return [];
    const about = { offset: use.node.start, given: undefined, repeated: true, conditional: true };
    return tools.map((tool): PlannedAt => ({ ...about, tool }));
  });
}

/**
 * The calls in functions that top-level variables may hold: own ones, and those of earlier scripts (`keptNames`). A
 * variable that a statement declares, or names outside of functions, counts as a holder of the functions in the
 * statement. Whether it can hold functions, only its type says.
 */
export function heldCalls(
  index: SyntaxIndex,
  calls: readonly ToolCall[],
  { keptNames, keptTools }: { readonly keptNames: readonly string[]; readonly keptTools: KeptTools },
  own: ReadonlySet<string>,
): readonly HeldCalls[] {
  const inFunctions = calls.filter((call) => isToolCall(call) && !isTopLevel(call.visit));
  if (inFunctions.length === 0 && keptTools.length === 0) return [];
  const starts = index.program.body.map(({ start }) => start);
  const parts = starts.map(() => ({ holders: new Set<string>(), tools: new Set<string>(), used: new Set<string>() }));
  const statementPart = ({ node }: Visit) => parts[lastAtMost(starts, node.start)]!;
  for (const call of inFunctions) statementPart(call.visit).tools.add(calledTool(call).tool);
  for (const name of new Set([...own, ...keptNames])) {
    for (const use of (index.references.get(name) ?? []).filter(isHeld)) {
      statementPart(use).used.add(name);
      if (isTopLevel(use)) statementPart(use).holders.add(name);
    }
    for (const visit of index.declared.get(name) ?? [])
      if (isTopLevelName(visit)) statementPart(visit).holders.add(name);
  }
  return parts
    .filter(({ holders, tools, used }) => holders.size > 0 && tools.size + used.size > 0)
    .map(({ holders, tools, used }) => ({ holders: [...holders], tools: [...tools], used: [...used] }));
}

/** The index of the last number that is at most `limit`, in numbers in order. */
function lastAtMost(numbers: readonly number[], limit: number): number {
  let [first, end] = [0, numbers.length];
  while (end - first > 1) {
    const middle = (first + end) >> 1;
    if (numbers[middle]! <= limit) first = middle;
    else end = middle;
  }
  return first;
}

function isTopLevelName(visit: Visit): boolean {
  return isTopLevel(visit) || (visit.key === 'id' && visit.parent !== undefined && isTopLevel(visit.parent));
}

/** Whether the value of the variable may become a part of another one, and is not only called at once. */
function isHeld(use: Visit): boolean {
  return !isTopLevel(use) || !(use.key === 'callee' && use.parent?.node.type === 'CallExpression');
}
