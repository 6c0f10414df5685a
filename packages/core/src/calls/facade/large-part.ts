import { convertResult, ResultLook } from './plain-result.js';

/** The rows of a result: the entries of a list, or the characters of a text. */
export interface LargePart {
  /** The names of the members that lead to the rows. */
  readonly at: readonly string[];
  readonly rows: readonly unknown[] | string;
}

/** Maximum number of values that are weighed to find the largest member. */
const MAX_WEIGHED = 10_000;
const MAX_DEPTH = 8;
const MAX_KEY_UNITS = 256;

/** The largest list or text of a result. Undefined: nothing in the result can be divided. */
export function largePart(result: unknown): LargePart | undefined {
  const at: string[] = [];
  let value = result;
  while (at.length <= MAX_DEPTH) {
    if (typeof value === 'string' || (Array.isArray(value) && value.length > 1)) return { at, rows: value };
    if (typeof value !== 'object' || value === null) return undefined;
    const [key, member] = heaviestMember(value) ?? [];
    if (key === undefined || key.length > MAX_KEY_UNITS) return undefined;
    at.push(key);
    value = member;
  }
  return undefined;
}

/** The result with other rows; it shares all else with the result. */
export function withPart(
  result: unknown,
  [key, ...rest]: readonly string[],
  rows: readonly unknown[] | string,
): unknown {
  if (key === undefined) return rows;
  const member = withPart((result as Record<string, unknown>)[key], rest, rows);
  if (Array.isArray(result)) return result.with(Number(key), member);
  return { ...(result as object), [key]: member };
}

function heaviestMember(holder: object): [string, unknown] | undefined {
  let heaviest: [string, unknown] | undefined;
  let most = 0;
  for (const entry of Object.entries(holder)) {
    const weight = partWeight(entry[1]);
    if (weight <= most) continue;
    most = weight;
    heaviest = entry;
  }
  return heaviest;
}

/** About the number of characters of a value's JSON, from its first values. */
function partWeight(value: unknown): number {
  let room = MAX_WEIGHED;
  const weigh = (one: unknown, depth: number): number => {
    if (typeof one === 'string') return one.length;
    if (typeof one !== 'object' || one === null || depth > MAX_DEPTH) return 1;
    if (Array.isArray(one) && one.length > room) return one.length;
    let weight = 1;
    for (const member of Object.values(one)) {
      if (room-- <= 0) return weight;
      weight += weigh(member, depth + 1);
    }
    return weight;
  };
  return weigh(value, 0);
}

/** The room of a page for its rows. */
export interface RowRoom {
  readonly bytes: number;
  readonly values: number;
}

/** The end of the page that starts at `start`: it holds at least one row. */
export function pageEnd(rows: readonly unknown[] | string, start: number, room: RowRoom): number {
  return typeof rows === 'string' ? textEnd(rows, start, room) : listEnd(rows, start, room);
}

function listEnd(rows: readonly unknown[], start: number, room: RowRoom): number {
  let { bytes, values } = room;
  let end = start;
  while (end < rows.length) {
    const row = rows[end];
    const look = new ResultLook(row, room.values);
    bytes -= 1 + jsonBytes(row, look);
    values -= look.values;
    if (end > start && (bytes < 0 || values < 0)) break;
    end += 1;
  }
  return end;
}

function textEnd(text: string, start: number, { bytes }: RowRoom): number {
  let units = bytes;
  while (units > 1 && jsonBytes(text.slice(start, start + units)) > bytes) units = Math.floor(units / 2);
  const end = Math.min(start + Math.max(units, 2), text.length);
  const divides = (text.codePointAt(end - 1) ?? 0) > 0xff_ff;
  return divides ? end - 1 : end;
}

/** The bytes of a value's JSON; 0 if it has none, which the check of its page reports. */
export function jsonBytes(value: unknown, look?: ResultLook): number {
  try {
    const plain = look?.isConvertible === true ? convertResult(value).value : value;
    return Buffer.byteLength(JSON.stringify(plain) ?? 'null');
  } catch {
    return 0;
  }
}
