/** A value that JSON text represents without loss. */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue | undefined };

/** A JSON object with string keys. */
export type JsonObject = { readonly [key: string]: JsonValue | undefined };

/** Maximum nesting of values between a script and its host, in both directions. */
export const MAX_JSON_DEPTH = 100;

const QUOTE = 34;
const BACKSLASH = 92;

/** The size of the JSON text that was measured. */
export interface JsonExtent {
  /** Nesting depth of lists and objects. */
  readonly depth: number;
  /** Values at every level, including lists and objects, plus member names. */
  readonly values: number;
}

/** Measures JSON text without parsing it: one pass, no recursion. Stops where the text nests deeper than `maxDepth`. */
export function measureJson(text: string, maxDepth: number): JsonExtent {
  let depth = 0;
  let deepest = 0;
  let values = 1;
  for (let index = 0; index < text.length && deepest <= maxDepth; index++) {
    switch (text.charCodeAt(index)) {
      case QUOTE:
        index = endOfString(text, index);
        break;
      case 44:
      case 58:
        values += 1;
        break;
      case 91:
      case 123:
        depth += 1;
        if (depth > deepest) deepest = depth;
        break;
      case 93:
      case 125:
        depth -= 1;
        if (!isOpening(text.charCodeAt(index - 1))) values += 1;
        break;
    }
  }
  return { depth: deepest, values };
}

/** Limits of a text of JSON from outside, before it is parsed. */
export interface JsonTextLimits {
  readonly levels: number;
  /** Values and member names. */
  readonly values: number;
}

/** The reason why a text of JSON is refused before it is parsed, as the end of a sentence. */
export function jsonTextProblem(text: string, limits: JsonTextLimits): string | undefined {
  const { depth, values } = measureJson(text, limits.levels);
  if (depth > limits.levels) return `is nested more than ${limits.levels} levels deep`;
  return values > limits.values ? `has more than ${limits.values} values` : undefined;
}

/** True if brackets outside strings nest deeper than `limit`. */
export function jsonDepthExceeds(text: string, limit: number): boolean {
  return measureJson(text, limit).depth > limit;
}

function isOpening(code: number): boolean {
  return code === 91 || code === 123;
}

/** The index of the closing quote; the length of the text if there is none. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === BACKSLASH) escapes += 1;
    if (escapes % 2 === 0) return end;
  }
  return text.length;
}

/** Whether a value is an object and not an array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Every member has a value. */
export type Defined<Members> = { [Name in keyof Members]-?: Exclude<Members[Name], undefined> };

/** The members that are not undefined. */
export function present<Members extends object>(
  members: Members,
): { [Name in keyof Members]?: Exclude<Members[Name], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as {
    [Name in keyof Members]?: Exclude<Members[Name], undefined>;
  };
}

/** Freezes data recursively. The data must be a tree, such as parsed JSON. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const key of Object.keys(value)) deepFreeze((value as Record<string, unknown>)[key]);
  return Object.freeze(value);
}
