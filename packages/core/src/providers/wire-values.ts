/** Reading of JSON that only mostly has the shape that its documentation says. Nothing here throws. */

export type Members = Readonly<Record<string, unknown>>;

/** Of an error whose shape is not known, so much is shown. */
const MAX_UNKNOWN_LENGTH = 1000;

const NO_MEMBERS: Members = Object.freeze({});

/** The value's members; none where it is no object. */
export function membersOf(value: unknown): Members {
  return isMembers(value) ? value : NO_MEMBERS;
}

export function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** Names are sometimes numbers, and sometimes empty, which is none. */
export function nameOf(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : [];
}

/** Arguments of a call are JSON text; some servers send the object itself. */
export function argumentsOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return typeof value === 'object' && value !== null ? jsonOf(value) : undefined;
}

/** Undefined where there is none, as of what is nested too deeply. */
export function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/** The members without those of these names, null or not. */
export function without(members: Members, ...names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([name]) => !names.includes(name)));
}

/** The members that say something. */
export function withoutNulls(members: Members): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null && value !== undefined));
}

/** What a provider said went wrong, in any of the shapes that are sent: `{ message, code, type }`, a text. */
export function failureOf(value: unknown): WireFailure {
  const text = textOf(value);
  if (text !== undefined) return { code: 'ProviderError', message: text, native: { message: text } };
  const members = membersOf(value);
  const code = nameOf(members.code) ?? nameOf(members.type) ?? 'ProviderError';
  const said = textOf(members.message) ?? textOf(members.detail);
  const message = said ?? (jsonOf(value) ?? 'The provider did not say why.').slice(0, MAX_UNKNOWN_LENGTH);
  return { code, message, native: members };
}

export interface WireFailure {
  readonly code: string;
  readonly message: string;
  /** The wire's own object. */
  readonly native: Members;
}

export function isJsonObject(text: string): boolean {
  try {
    return isMembers(JSON.parse(text));
  } catch {
    return false;
  }
}
