import { getPrototypeOf, isArray, Object, parse } from '../primordials.js';

/**
 * `JSON.parse` that returns a value which is no text but data already, as the result of a tool is. The language makes
 * text of such a value first: `[object Object]`, which no JSON begins with.
 */
export function parseJson(text: unknown, reviver?: (this: unknown, key: string, value: unknown) => unknown): unknown {
  return reviver === undefined && isData(text) ? text : (parse(text as string, reviver) as unknown);
}

function isData(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return isArray(value) || (getPrototypeOf(value) === Object.prototype && value.toString === Object.prototype.toString);
}
