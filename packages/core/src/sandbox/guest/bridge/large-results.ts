// The handles of results that were too large for a script. The host has the rows; a handle reads them page by page.
import { create, freeze, isArray, Symbol } from '../primordials.js';
import { defineHidden } from './errors.js';

/** The host's description of a result that it keeps; see `LargeResult` of the host. */
interface KeptResult {
  readonly key: string;
  readonly scope: string;
  readonly pages: number;
  readonly rows: number;
  readonly bytes: number;
  readonly at: readonly string[];
}

interface NewHandle {
  /** The index of the call whose result it is. */
  readonly call: number;
  readonly at: readonly string[];
  readonly handle: object;
}

type ReadPage = (request: object) => Promise<unknown>;

let newHandles: NewHandle[] = [];

/** Returns the handles that the script has received, for the scripts that follow. */
export function takeHandles(): readonly NewHandle[] {
  const taken = newHandles;
  newHandles = [];
  return taken;
}

export function isKeptResult(value: unknown): value is KeptResult {
  return typeof value === 'object' && value !== null && isArray((value as KeptResult).at);
}

export function makeHandle(call: number, { key, scope, pages, rows, bytes, at }: KeptResult, read: ReadPage): object {
  const page = freeze((index: unknown) => read({ key, scope, page: +(index as number) }));
  const handle = create(null) as Record<PropertyKey, unknown>;
  handle['key'] = key;
  handle['pages'] = pages;
  handle['rows'] = rows;
  handle['bytes'] = bytes;
  // Functions are no data: a script may return a handle, or log it.
  defineHidden(handle, 'page', page);
  defineHidden(
    handle,
    Symbol.asyncIterator,
    freeze(() => pageRows(page, pages, at)),
  );
  freeze(handle);
  newHandles[newHandles.length] = { call, at, handle };
  return handle;
}

async function* pageRows(page: (index: unknown) => Promise<unknown>, pages: number, at: readonly string[]) {
  for (let index = 0; index < pages; index++) {
    let part = await page(index);
    for (let depth = 0; depth < at.length; depth++) part = (part as Record<string, unknown>)[at[depth]!];
    if (!isArray(part)) yield part;
    else for (let row = 0; row < part.length; row++) yield part[row] as unknown;
  }
}
