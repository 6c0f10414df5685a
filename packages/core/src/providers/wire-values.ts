import { messageJson } from '../protocol/json.js';

/** Reads JSON that may deviate from its documented shape. No function here throws. */

export type Members = Readonly<Record<string, unknown>>;

/** Maximum length of an error of unknown shape. */
const MAX_UNKNOWN_LENGTH = 1000;

const NO_MEMBERS: Members = Object.freeze({});

/** The members of the value; empty if it is not an object. */
export function wireMembers(value: unknown): Members {
  return isMembers(value) ? value : NO_MEMBERS;
}

export function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function wireText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** The text of a name. A name may arrive as a number. An empty name counts as missing. */
export function wireName(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function wireCount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

export function wireList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : [];
}

/** The arguments of a call as JSON text. Some servers send the object itself. */
export function wireArguments(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return typeof value === 'object' && value !== null ? wireJson(value) : undefined;
}

/** The JSON text of a value; undefined if it has none, for example because it is nested too deeply. */
export function wireJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/**
 * The arguments of a call as the JSON of an object, which servers parse: missing arguments become an empty object, and
 * all other values are wrapped in an object. Text of an object stays as the model wrote it, except for unpaired
 * surrogates.
 */
export function objectJson(text: string): string {
  if (text.trim() === '') return '{}';
  return withoutHalves(isJsonObject(text) ? text : JSON.stringify({ invalid_arguments: text }));
}

/**
 * The JSON with U+FFFD in place of each escaped surrogate that has no partner: services refuse text that is not valid
 * UTF-8. `JSON.stringify` writes every such surrogate as an escape.
 */
export function withoutHalves(json: string): string {
  return json.replaceAll(/\\(?:ud[89ab][\da-f]{2}\\ud[c-f][\da-f]{2}|ud[89a-f][\da-f]{2}|[^])/giu, (escape) =>
    /^\\ud...$/iu.test(escape) ? String.raw`\ufffd` : escape,
  );
}

/** Whether both texts are JSON of the same value, with members in the same order. */
export function sameJson(one: string, other: string): boolean {
  const [value, same] = [messageJson(one), messageJson(other)];
  return value !== undefined && JSON.stringify(value) === JSON.stringify(same);
}

/** The members except those with these names. */
export function without(members: Members, ...names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([name]) => !names.includes(name)));
}

/** The members that are neither undefined nor null. */
export function withoutNulls(members: Members): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null && value !== undefined));
}

/** The failure that a provider sent, in any of the common shapes: `{ message, code, type }`, a text. */
export function wireFailure(value: unknown): WireFailure {
  const text = wireText(value);
  if (text !== undefined) return { code: 'ProviderError', message: text, native: { message: text } };
  const members = wireMembers(value);
  const code = wireName(members.code) ?? wireName(members.type) ?? 'ProviderError';
  const said = wireText(members.message) ?? wireText(members.detail);
  const message = said ?? (wireJson(value) ?? 'The provider gave no reason.').slice(0, MAX_UNKNOWN_LENGTH);
  return { code, message, native: members };
}

export interface WireFailure {
  readonly code: string;
  readonly message: string;
  /** The object on the wire. */
  readonly native: Members;
}

export function isJsonObject(text: string): boolean {
  return isMembers(messageJson(text));
}
