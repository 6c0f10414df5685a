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
  const measure = new JsonMeasure({ levels: maxDepth, values: Number.POSITIVE_INFINITY });
  measure.add(text);
  return measure;
}

/** Limits of a text of JSON from outside, before it is parsed. */
export interface JsonTextLimits {
  readonly levels: number;
  /** Values and member names. */
  readonly values: number;
}

/** Measures JSON text in parts, and stops where it exceeds a limit. Bytes may be given as latin1 text. */
export class JsonMeasure implements JsonExtent {
  depth = 0;
  values = 1;
  readonly #limits: JsonTextLimits;
  #open = 0;
  #last = 0;
  #isInText = false;
  /** Number of backslashes at the end of the part before, inside a text. */
  #escapes = 0;

  constructor(limits: JsonTextLimits) {
    this.#limits = limits;
  }

  /** The reason why the text is refused, as the end of a sentence. */
  get problem(): string | undefined {
    const { levels, values } = this.#limits;
    if (this.depth > levels) return `is nested more than ${levels} levels deep`;
    return this.values > values ? `has more than ${values} values` : undefined;
  }

  add(part: string): void {
    const { levels: maxDepth, values: maxValues } = this.#limits;
    let { depth, values } = this;
    let open = this.#open;
    let index = this.#isInText ? this.#endOfText(part, 0, this.#escapes) + 1 : 0;
    for (; index < part.length && depth <= maxDepth && values <= maxValues; index++) {
      switch (part.charCodeAt(index)) {
        case QUOTE:
          index = this.#endOfText(part, index + 1, 0);
          break;
        case 44:
        case 58:
          values += 1;
          break;
        case 91:
        case 123:
          open += 1;
          if (open > depth) depth = open;
          break;
        case 93:
        case 125:
          open -= 1;
          if (!isOpening(index === 0 ? this.#last : part.charCodeAt(index - 1))) values += 1;
          break;
      }
    }
    this.depth = depth;
    this.values = values;
    this.#open = open;
    if (part !== '') this.#last = part.charCodeAt(part.length - 1);
  }

  /**
   * The index of the quote that closes a text which continues at `start`; the length of the part if there is none.
   * `escapes`: the backslashes directly before `start`.
   */
  #endOfText(part: string, start: number, escapes: number): number {
    this.#isInText = false;
    for (let end = part.indexOf('"', start); end !== -1; end = part.indexOf('"', end + 1))
      if (escapesBefore(part, end, start, escapes) % 2 === 0) return end;
    this.#isInText = true;
    this.#escapes = escapesBefore(part, part.length, start, escapes);
    return part.length;
  }
}

/** The number of backslashes directly before `end`, of which `before` are before `start`. */
function escapesBefore(part: string, end: number, start: number, before: number): number {
  let first = end;
  while (first > start && part.charCodeAt(first - 1) === BACKSLASH) first -= 1;
  return end - first + (first === start ? before : 0);
}

/** The reason why a text of JSON is refused before it is parsed, as the end of a sentence. */
export function jsonTextProblem(text: string, limits: JsonTextLimits): string | undefined {
  const measure = new JsonMeasure(limits);
  measure.add(text);
  return measure.problem;
}

/** Limits of a message of a provider or of an MCP server, and of a stored record. A value in it may be a list of tools. */
export const MESSAGE_LIMITS: JsonTextLimits = { levels: 1_000, values: 1_000_000 };

/** The value of JSON text from outside; undefined if it is not JSON, or exceeds `MESSAGE_LIMITS`. */
export function messageJson(text: string): unknown {
  try {
    // defence: messages-are-measured-before-parsing
    return jsonTextProblem(text, MESSAGE_LIMITS) === undefined ? (JSON.parse(text) as unknown) : undefined;
  } catch {
    return undefined;
  }
}

/** True if brackets outside strings nest deeper than `limit`. */
export function jsonDepthExceeds(text: string, limit: number): boolean {
  return measureJson(text, limit).depth > limit;
}

function isOpening(code: number): boolean {
  return code === 91 || code === 123;
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
