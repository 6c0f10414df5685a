import type { Operation } from '../../protocol/operations.js';
import type { ResultLabel, Trust } from '../../protocol/provenance.js';
import type { Tool } from '../../protocol/tools.js';
import { commonReaders, type Readers } from './readers.js';

/** The meaning of a tool's label for a part of a result. */
export interface PartLabel {
  readonly trust: Trust;
  /** The author or the place of the part, if the tool names it. */
  readonly from?: string | undefined;
  readonly readers?: Readers;
}

/** A part of what a call gave to its script. */
export interface ResultPart extends PartLabel {
  readonly value: unknown;
}

/** The labels of a call's arguments, which its result keeps. */
export interface InputLabel {
  /** Whether untrusted text may have chosen an argument. */
  readonly isTainted: boolean;
  readonly readers?: Readers;
}

const NOBODY: readonly string[] = [];

/** The parts of a call's result, by the labels of its tool. A failed call gives the text of its error. */
export function resultParts(operation: Operation, tool: Tool | undefined, input: InputLabel): readonly ResultPart[] {
  const { error, result, status } = operation;
  const rest = restLabel(operation, tool, input);
  if (status !== 'completed') return error === undefined ? [] : [{ value: error.message, ...rest }];
  if (tool?.labels === undefined) return [{ value: result, ...rest }];
  try {
    return labelledParts(result, tool.labels(result as never), rest);
  } catch {
    return [{ value: result, trust: 'untrusted', readers: NOBODY }];
  }
}

/** The label of what no label names. The labels of a tool alone speak about its results. */
function restLabel(
  { untrusted, status }: Operation,
  tool: Tool | undefined,
  { isTainted, readers }: InputLabel,
): PartLabel {
  const isMarked = untrusted === true && (tool?.labels === undefined || status !== 'completed');
  return { trust: isTainted || isMarked || tool?.trust === 'untrusted' ? 'untrusted' : 'trusted', readers };
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
export function partLabel(operation: Operation, tool: Tool | undefined, part: number, input: InputLabel): PartLabel {
  const rest = restLabel(operation, tool, input);
  if (tool?.labels === undefined || operation.status !== 'completed') return rest;
  try {
    const labels = tool.labels(operation.result as never);
    if (part > 0) return namedPart(labels[part - 1]!, rest);
    if (labels.length === 0 || partPaths(tool, operation.result).length > 0) return rest;
    const isTrusted = labels.every((label) => label.trust === 'trusted') && !input.isTainted;
    return {
      trust: isTrusted ? 'trusted' : 'untrusted',
      from: labels.find(({ path }) => path === '')?.from,
      readers: commonReaders([rest.readers, ...labels.map(({ readers }) => readers)]),
    };
  } catch {
    return { trust: 'untrusted', readers: NOBODY };
  }
}

/**
 * The name of the calls by which the handle of a large result reads a page. The page has its own label. The arguments are
 * those of the handle, so no text has chosen them.
 */
export const PAGE_TOOL = '$page';

/** The label of a part that a tool's label names. */
function namedPart({ trust = 'untrusted', from, readers }: ResultLabel, rest: PartLabel): PartLabel {
  return { trust, from, readers: commonReaders([rest.readers, readers]) };
}

/** Whether a result of the tool contains text of unknown authors. */
export function hasUntrustedPart(tool: Tool, result: unknown): boolean {
  if (tool.trust === 'untrusted' || tool.labels === undefined) return tool.trust === 'untrusted';
  return ownParts(tool, result).some(({ trust }) => trust === 'untrusted');
}

/** Whether a result of the tool contains a text that not everybody may read. */
export function hasReaders(tool: Tool, result: unknown): boolean {
  return tool.labels !== undefined && ownParts(tool, result).some(({ readers }) => readers !== undefined);
}

function ownParts(tool: Tool, result: unknown): readonly ResultPart[] {
  return resultParts({ status: 'completed', result } as Operation, tool, { isTainted: false });
}

/** Divides the result into its labelled parts and the rest. A `trusted` label cannot clean a result that is tainted. */
function labelledParts(result: unknown, labels: readonly ResultLabel[], label: PartLabel): readonly ResultPart[] {
  const parts: ResultPart[] = [];
  let rest: unknown = structuredClone(result);
  for (const own of labels) {
    const keys = pathKeys(own.path);
    const value = valueAt(result, keys);
    if (value === undefined) continue;
    parts.push({ value, ...namedPart(own, label) });
    rest = without(rest, keys);
  }
  return [...parts, { value: rest, ...label }];
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
