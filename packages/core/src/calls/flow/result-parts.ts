import type { Operation } from '../../protocol/operations.js';
import type { Trust } from '../../protocol/provenance.js';
import type { Tool } from '../../protocol/tools.js';

/** A part of what a call gave to its script. */
export interface ResultPart {
  readonly value: unknown;
  readonly trust: Trust;
  /** The author or the place of the part, if the tool names it. */
  readonly from?: string | undefined;
}

/**
 * The parts of a call's result, by the labels of its tool. A failed call gives the text of its error. `isTainted`:
 * untrusted text has chosen the result.
 */
export function resultParts(operation: Operation, tool: Tool | undefined, isTainted: boolean): readonly ResultPart[] {
  const { error, result, status } = operation;
  const trust = restTrust(operation, tool, isTainted);
  if (status !== 'completed') return error === undefined ? [] : [{ value: error.message, trust }];
  if (tool?.labels === undefined) return [{ value: result, trust }];
  try {
    return labelledParts(result, tool.labels(result as never), trust);
  } catch {
    return [{ value: result, trust: 'untrusted' }];
  }
}

/** The trust of what no label names. The labels of a tool alone speak about its results. */
function restTrust({ untrusted, status }: Operation, tool: Tool | undefined, isTainted: boolean): Trust {
  const isMarked = untrusted === true && (tool?.labels === undefined || status !== 'completed');
  return isTainted || isMarked || tool?.trust === 'untrusted' ? 'untrusted' : 'trusted';
}

/** The meaning of a tool's label for a part of a result. */
export interface PartLabel {
  readonly trust: Trust;
  readonly from?: string | undefined;
}

/**
 * The keys of the parts that the tool's labels name, in the order of the labels. Empty: the result is one part. Throws
 * what the tool throws.
 */
export function partPaths(tool: Tool | undefined, result: unknown): readonly (readonly string[])[] {
  if (typeof result !== 'object' || result === null || tool?.labels === undefined) return [];
  const paths = tool.labels(result as never).map(({ path }) => pathKeys(path));
  const written = paths.map((keys) => keys.map((key) => `${key}\0`).join(''));
  // A part within another part would need an order between their labels.
  const isNested = written.some((path, index) => written.some((other, at) => at !== index && path.startsWith(other)));
  return isNested || written.includes('') ? [] : paths;
}

/** The label of a part of a call's result: 0 for what no label names, else the position of the label, from 1. */
export function partLabel(operation: Operation, tool: Tool | undefined, part: number, isTainted: boolean): PartLabel {
  const trust = restTrust(operation, tool, isTainted);
  if (tool?.labels === undefined || operation.status !== 'completed') return { trust };
  try {
    const labels = tool.labels(operation.result as never);
    if (part > 0) return { trust: labels[part - 1]!.trust ?? 'untrusted', from: labels[part - 1]!.from };
    if (labels.length === 0 || partPaths(tool, operation.result).length > 0) return { trust };
    const isTrusted = labels.every((label) => label.trust === 'trusted') && !isTainted;
    return { trust: isTrusted ? 'trusted' : 'untrusted', from: labels.find(({ path }) => path === '')?.from };
  } catch {
    return { trust: 'untrusted' };
  }
}

/**
 * The name of the calls by which the handle of a large result reads a page. The page has its own label. The arguments are
 * those of the handle, so no text has chosen them.
 */
export const PAGE_TOOL = '$page';

/** Whether a result of the tool contains text of unknown authors. */
export function hasUntrustedPart(tool: Tool, result: unknown): boolean {
  if (tool.trust === 'untrusted' || tool.labels === undefined) return tool.trust === 'untrusted';
  const operation = { status: 'completed', result } as Operation;
  return resultParts(operation, tool, false).some(({ trust }) => trust === 'untrusted');
}

/** Divides the result into its labelled parts and the rest. A `trusted` label cannot clean a result that is tainted. */
function labelledParts(
  result: unknown,
  labels: ReturnType<NonNullable<Tool['labels']>>,
  trust: Trust,
): readonly ResultPart[] {
  const parts: ResultPart[] = [];
  let rest: unknown = structuredClone(result);
  for (const { path, from, trust: own = 'untrusted' } of labels) {
    const keys = pathKeys(path);
    const value = valueAt(result, keys);
    if (value === undefined) continue;
    parts.push({ value, trust: own, from });
    rest = without(rest, keys);
  }
  return [...parts, { value: rest, trust }];
}

/** The members and indexes of a path such as `mails[0].body`. Throws a `TypeError` for any other form. */
function pathKeys(path: string): readonly string[] {
  if (path === '') return [];
  if (!/^(?:[^.[\]]+|\[\d+\])(?:\.[^.[\]]+|\[\d+\])*$/u.test(path))
    throw new TypeError(`The path ${JSON.stringify(path)} is not valid.`);
  return path.split(/[.[\]]+/u).filter((key) => key !== '');
}

function valueAt(value: unknown, keys: readonly string[]): unknown {
  let at = value;
  for (const key of keys) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined;
    at = (at as Record<string, unknown>)[key];
  }
  return at;
}

/** Removes the value at the path from a copy. */
function without(copy: unknown, keys: readonly string[]): unknown {
  const last = keys.at(-1);
  if (last === undefined) return undefined;
  const holder = valueAt(copy, keys.slice(0, -1));
  if (typeof holder === 'object' && holder !== null) {
    if (Array.isArray(holder)) holder[Number(last)] = null;
    else delete (holder as Record<string, unknown>)[last];
  }
  return copy;
}
