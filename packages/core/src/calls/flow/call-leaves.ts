import type { JsonValue } from '../../protocol/json.js';
import { formatPath } from '../../text/value-path.js';

/** A text or a number in the arguments of a call. Other values name nothing. */
export interface Leaf {
  /** The path as users read it: `changes[0].path`. */
  readonly path: string;
  /** The members and indexes of the path. */
  readonly keys: readonly (string | number)[];
  readonly value: string | number;
}

/** Maximum number of values that are compared; see `LeavesOf.isComplete`. */
const MAX_LEAVES = 500;

export interface LeavesOf {
  readonly leaves: readonly Leaf[];
  /** False: the arguments have more values than are compared. */
  readonly isComplete: boolean;
}

export function argumentLeaves(input: JsonValue): LeavesOf {
  const leaves: Leaf[] = [];
  const open: { value: unknown; path: readonly (string | number)[] }[] = [{ value: input, path: [] }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, path } = next;
    if (typeof value === 'object' && value !== null) {
      const entries = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
      for (const [key, member] of entries.toReversed()) open.push({ value: member, path: [...path, key] });
    } else if (typeof value === 'number' || (typeof value === 'string' && value !== '')) {
      if (leaves.length === MAX_LEAVES) return { leaves, isComplete: false };
      leaves.push({ path: formatPath(path, '').replace(/^\./u, ''), keys: path, value });
    }
  }
  return { leaves, isComplete: true };
}

/** Whether a guarded path, such as `changes.path`, leads to the value at the path, such as `changes[0].path`. */
export function isGuarded(path: string, guarded: readonly string[]): boolean {
  const plain = path.replaceAll(/\[\d+\]/gu, '');
  return guarded.some((one) => plain === one || (plain.startsWith(one) && '.['.includes(plain.charAt(one.length))));
}
