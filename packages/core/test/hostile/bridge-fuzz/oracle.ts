import { CALL_LINE } from './script-tree.js';
import type { ScriptRecord } from './script-record.js';

/** A call as the host received it. */
export interface SeenCall {
  readonly name: string;
  readonly argsJson: string;
  readonly argsProblem: string | undefined;
  readonly line: number;
}

export function check(n: number): number {
  return (Math.imul(n + 1, 2_654_435_761) >>> 0) % 1_000_003;
}

/**
 * True for a call of the bridge's own functions, which have a separate budget; a detached task counts as a call
 * of its tool.
 */
export function isBuiltin({ name }: SeenCall): boolean {
  return name.startsWith('$') && name !== '$spawn';
}

/** The number in a call's arguments, if they describe themselves; throws if they differ from the intended ones. */
function numberOf({ name, argsJson, argsProblem }: SeenCall): number | undefined {
  if (argsProblem !== undefined || name.startsWith('$')) return undefined;
  const said = JSON.parse(argsJson) as { n?: unknown; check?: unknown; shape?: string } | null;
  const n = said?.n;
  if (typeof n !== 'number' || said?.check === undefined) return undefined;
  const meant = JSON.stringify(expectedArguments(n, said.shape));
  const isMeant = argsJson === meant || argsJson === JSON.stringify({ check: check(n), n });
  if (!isMeant) throw new Error(`the host reads the arguments ${argsJson.slice(0, 200)} instead of ${meant}`);
  return n;
}

function expectedArguments(n: number, shape: string | undefined): unknown {
  const base = { n, check: check(n) };
  switch (shape) {
    case 'text':
      return { ...base, shape, pad: 'aé😀\n\u2028"'.repeat(n % 9) };
    case 'deep':
      return { ...base, shape, deep: { list: [n, [{ n }], null, true] } };
    case 'large':
      return { ...base, shape, pad: 'y'.repeat((n % 5) * 900) };
    default:
      return base;
  }
}

/**
 * The script made every call that the host received, in this order, and the host received every call of the script. A
 * call that threw does not exist; a call that returned a promise does.
 */
export function compareCalls(
  seen: readonly SeenCall[],
  { made, wrong }: ScriptRecord,
  rules: { maxCalls: number; isComplete: boolean; isForeign: boolean },
): string[] {
  const faults: string[] = [];
  if (wrong > 0) faults.push(`${wrong} calls were given the result of another call`);
  const numbers = seen.filter(({ name }) => !name.startsWith('$')).map(numberOf);
  const expected = made.slice(0, rules.maxCalls);
  let at = 0;
  // The number of calls since the last one that describes itself.
  let others = 0;
  for (const n of numbers) {
    if (n === undefined) {
      others++;
      continue;
    }
    const found = expected.indexOf(n, at);
    // The script may have been stopped between the call and its record.
    if (found < 0 && !rules.isComplete && at + others >= expected.length) return faults;
    if (found < 0) return [...faults, `the host saw call ${n}, and the script made no such call`];
    if (!isSameCount(found - at, others, rules.isForeign))
      return [...faults, `before call ${n} the script made ${found - at} others, and the host saw ${others}`];
    others = 0;
    at = found + 1;
  }
  const isCut = seen.filter((call) => !isBuiltin(call)).length >= rules.maxCalls;
  if (rules.isComplete && !isCut && !isSameCount(expected.length - at, others, rules.isForeign))
    faults.push(`at the end the script made ${expected.length - at} calls, and the host saw ${others}`);
  return faults;
}

/** True if the numbers are equal. Scripts of the corpus make calls that are in no record. */
function isSameCount(made: number, seen: number, isForeign: boolean): boolean {
  return isForeign ? made <= seen : made === seen;
}

/** The lines of calls; undefined if the script contains unmarked calls. */
export function callLines(javascript: string): ReadonlySet<number> {
  return new Set(javascript.split('\n').flatMap((line, index) => (line.includes(CALL_LINE) ? [index + 1] : [])));
}
