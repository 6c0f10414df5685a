import { z } from 'zod';
import { ToolscriptUsageError } from '../protocol/errors.js';
import type { JsonObject, JsonValue } from '../protocol/json.js';
import type { ValidationResult } from '../protocol/tools.js';
import { copyJson, NotJsonError } from './json-text.js';
import { knownKeys } from './object-keys.js';
import { schemaTree } from './read-schema.js';
import { plainIssue } from './validation-issues.js';
import { schemaTextChecks, UnsafeZodPattern, ZodBounds, type TextCheck, type ZodSchema } from './zod-bounds.js';
import { explainZodIssues } from './zod-issues.js';

export type { ZodSchema } from './zod-bounds.js';

/**
 * zod schemas for data that enters or leaves the sandbox as JSON. A copy of the user's schema validates the data. In an
 * input (`closed`), objects without a rule for unknown keys reject these keys, at every level and inside unions; loose
 * objects and catchalls stay unchanged. Schemas whose values JSON cannot represent, or that transform their values, are
 * rejected when the copy is created, so the validated value is always the sent value plus defaults.
 */

export interface CompiledSchema {
  /** The schema that a model and the type checker see. */
  readonly jsonSchema: JsonObject;
  /** Validates a value. Never throws. */
  readonly validate: (value: unknown) => ValidationResult;
  /** Notes for a reader of the schema, one sentence each, about rules that Toolscript cannot check. */
  readonly notes: readonly string[];
}

export function isZodSchema(value: unknown): value is ZodSchema {
  return typeof value === 'object' && value !== null && '_zod' in value;
}

/** Compiles a schema. `where` names the schema in errors: `The input of the tool "x"`. */
export function compileZodSchema(schema: ZodSchema, direction: 'input' | 'output', where: string): CompiledSchema {
  const rebuilt = new SchemaCopy(direction === 'input', where);
  const copy = rebuilt.copy(schema, []);
  const jsonSchema = toJsonSchema(copy, direction, rebuilt.descriptions, where);
  rebuilt.finish();
  const bounded: BoundedSchema = { schema: copy, bounds: rebuilt.bounds };
  return { jsonSchema, validate: (value) => validateWithZod(bounded, jsonSchema, value), notes: [] };
}

function toJsonSchema(
  schema: ZodSchema,
  io: 'input' | 'output',
  metadata: z.core.$ZodRegistry<z.core.GlobalMeta>,
  where: string,
): JsonObject {
  try {
    const json = z.toJSONSchema(schema, { io, metadata, override: dropPatternsOfFormats }) as Record<string, unknown>;
    delete json['$schema'];
    return JSON.parse(JSON.stringify(json)) as JsonObject;
  } catch (error) {
    if (error instanceof ToolscriptUsageError) throw error;
    throw new ToolscriptUsageError('SCHEMA_WITHOUT_JSON_FORM', { where, problem: errorText(error) });
  }
}

/**
 * Deletes the regular expressions of `format: date-time` and similar formats, which are long and add nothing for a
 * model.
 */
function dropPatternsOfFormats({ jsonSchema }: { jsonSchema: { format?: unknown; pattern?: unknown } }): void {
  if (typeof jsonSchema.format === 'string') delete jsonSchema.pattern;
}

/** zod drops the key `__proto__`, so the key has another name during the validation. */
const PROTO = '__proto__';
const PROTO_STAND_IN = '__proto__\u0000';

interface BoundedSchema {
  readonly schema: ZodSchema;
  readonly bounds: ZodBounds;
}

/** Ends the validation at the first issue if zod can. */
const FIRST_ISSUE = { reportInput: true, async: false, abortEarly: true };
const ALL_ISSUES = { reportInput: true, async: false };
/**
 * Maximum number of values in data whose issues are all collected. For larger data, only the first issues are reported.
 */
const MAX_VALUES = 2_000;

function validateWithZod(bounded: BoundedSchema, jsonSchema: JsonObject, value: unknown): ValidationResult {
  try {
    let renamed = false;
    const data = copyJson(value, (key) => {
      if (key !== PROTO) return key;
      renamed = true;
      return PROTO_STAND_IN;
    });
    const result = runZod(bounded, data, FIRST_ISSUE);
    if (result.issues.length > 0) {
      const issues = wordedIssues(
        hasMoreValues(data, MAX_VALUES) ? result.issues : runZod(bounded, data, ALL_ISSUES).issues,
      );
      return {
        ok: false,
        issues: explainZodIssues(issues, (path) => knownKeys(schemaTree(jsonSchema).root, path)),
      };
    }
    return { ok: true, value: renamed ? restoreProto(result.value) : (result.value as JsonValue) };
  } catch (error) {
    return { ok: false, issues: [explainThrown(error)] };
  }
}

/**
 * Validates like `z.safeParse`, but an issue gets its text only when the issue is reported, because the text costs more
 * than finding the issue.
 */
function runZod({ schema, bounds }: BoundedSchema, value: unknown, context: z.core.ParseContextInternal) {
  bounds.begin(value);
  // oxlint-disable-next-line no-underscore-dangle -- where zod keeps what it runs
  const result = schema._zod.run({ value, issues: [] }, context);
  if (result instanceof Promise) throw new z.core.$ZodAsyncError();
  return result;
}

function wordedIssues(issues: readonly z.core.$ZodRawIssue[]): z.core.$ZodIssue[] {
  return issues.map((issue) => z.core.util.finalizeIssue(issue, ALL_ISSUES, z.core.config()));
}

function hasMoreValues(value: JsonValue, max: number): boolean {
  const waiting: unknown[] = [value];
  for (let count = 0; count <= max; count++) {
    if (waiting.length === 0) return false;
    const next = waiting.pop();
    if (typeof next !== 'object' || next === null) continue;
    const members = Object.values(next);
    if (members.length > max) return true;
    waiting.push(...members);
  }
  return true;
}

function restoreProto(value: unknown): JsonValue {
  return copyJson(value, (key) => (key === PROTO_STAND_IN ? PROTO : key));
}

function explainThrown(error: unknown) {
  if (error instanceof NotJsonError) return plainIssue(error.path, error.message);
  if (error instanceof z.core.$ZodAsyncError) {
    return plainIssue(
      [],
      'cannot be checked: the schema of this tool has asynchronous checks, which tools do not support; move them into execute',
    );
  }
  return plainIssue([], `cannot be checked: ${errorText(error)}`);
}

type Definition = Record<string, unknown> & { type: string };

/** The members of definitions that hold schemas, with the step to these schemas in the path of an error. */
const PART_STEPS: Readonly<Record<string, string>> = {
  element: '[]',
  options: '',
  left: '',
  right: '',
  items: '',
  rest: '[]',
  keyType: '(key)',
  valueType: '[key]',
  in: '',
  out: '',
  innerType: '',
};

/** Rebuilds a schema without changing it. Recursive schemas stay recursive. */
class SchemaCopy {
  readonly bounds = new ZodBounds();
  readonly descriptions = z.registry<z.core.GlobalMeta>();
  readonly #copies = new Map<ZodSchema, ZodSchema>();
  readonly #isClosed: boolean;
  readonly #where: string;
  /**
   * Functions that resolve the getters of objects and of lazy schemas. The inner schemas are copied at their first use;
   * `finish` copies the remaining ones.
   */
  readonly #delayedGetters: (() => unknown)[] = [];

  constructor(closed: boolean, where: string) {
    this.#isClosed = closed;
    this.#where = where;
  }

  copy(schema: ZodSchema, path: readonly string[]): ZodSchema {
    const known = this.#copies.get(schema);
    if (known !== undefined) return known;
    // oxlint-disable-next-line no-underscore-dangle -- where zod keeps a schema's definition
    const definition = schema._zod.def as unknown as Definition;
    this.#refuseWhatJsonCannotCarry(definition, path);
    const textChecks = this.#textChecks(schema, path);
    const copy = z.core.clone(schema, (this.#copyDefinition(definition, path) ?? definition) as never);
    this.#copies.set(schema, copy);
    this.bounds.bound(copy, definition.type, textChecks);
    const description = z.globalRegistry.get(schema as z.ZodType);
    if (description !== undefined) this.descriptions.add(copy, description as never);
    return copy;
  }

  /** Resolves getters, so that an unusable schema is rejected immediately and not at a call. */
  finish(): void {
    for (let next = this.#delayedGetters.pop(); next !== undefined; next = this.#delayedGetters.pop()) next();
  }

  /** Returns the definition of the copy; undefined for a schema without parts. */
  #copyDefinition(definition: Definition, path: readonly string[]): Definition | undefined {
    if (definition.type === 'object') return this.#copyObject(definition, path);
    if (definition.type === 'lazy') {
      const getter = this.#later(() => this.copy((definition['getter'] as () => ZodSchema)(), path));
      return { ...definition, getter };
    }
    let copy: Definition | undefined;
    for (const member of Object.keys(definition)) {
      const step = Object.hasOwn(PART_STEPS, member) ? PART_STEPS[member] : undefined;
      const part = definition[member];
      if (step === undefined || part === undefined || part === null) continue;
      copy ??= { ...definition };
      const inner = step === '' ? path : [...path, step];
      if (!Array.isArray(part)) copy[member] = this.copy(part as ZodSchema, inner);
      else
        copy[member] = part.map((schema: ZodSchema, index) =>
          this.copy(schema, member === 'items' ? [...path, `[${index}]`] : path),
        );
    }
    return copy;
  }

  #copyObject(definition: Definition, path: readonly string[]): Definition {
    const shape = this.#later(() => {
      const fields = definition['shape'] as Record<string, ZodSchema>;
      const value = Object.fromEntries(
        Object.keys(fields).map((key) => [key, this.copy(fields[key] as ZodSchema, [...path, `.${key}`])]),
      );
      // zod treats a shape in a getter as recursive, and takes three times as long to read it.
      Object.defineProperty(changed, 'shape', { value, enumerable: true, configurable: true });
      return value;
    });
    const catchall = definition['catchall'] as ZodSchema | undefined;
    const others = Object.fromEntries(
      Object.entries(Object.getOwnPropertyDescriptors(definition)).filter(([key]) => key !== 'shape'),
    );
    const changed = Object.defineProperties({}, others) as Definition;
    Object.defineProperty(changed, 'shape', { get: shape, enumerable: true, configurable: true });
    if (catchall !== undefined) changed['catchall'] = this.copy(catchall, [...path, '[key]']);
    else if (this.#isClosed) changed['catchall'] = z.never();
    return changed;
  }

  #later<T>(make: () => T): () => T {
    let made: { value: T } | undefined;
    const once = () => (made ??= { value: make() }).value;
    this.#delayedGetters.push(once);
    return once;
  }

  #refuseWhatJsonCannotCarry(definition: Definition, path: readonly string[]): void {
    const replacement = replacementFor(definition);
    if (replacement !== undefined)
      throw new ToolscriptUsageError('SCHEMA_PART_WITHOUT_JSON_FORM', {
        where: this.#where,
        place: schemaPlace(path),
        replacement,
      });
  }

  #textChecks(schema: ZodSchema, path: readonly string[]): TextCheck[] {
    try {
      return schemaTextChecks(schema);
    } catch (error) {
      if (!(error instanceof UnsafeZodPattern)) throw error;
      throw new ToolscriptUsageError('SCHEMA_PART_UNCHECKABLE', {
        where: this.#where,
        place: schemaPlace(path),
        problem: error.message,
      });
    }
  }
}

function schemaPlace(path: readonly string[]): string {
  return path.length === 0 ? 'the schema itself' : path.join('').replace(/^\./, '');
}

const REPLACEMENTS: Readonly<Record<string, string>> = {
  date: 'z.date() makes a Date; use z.iso.datetime() or z.iso.date(), which are strings',
  bigint: 'a BigInt has no JSON form; use z.int() or a z.string() of digits',
  map: 'a Map has no JSON form; use z.record(z.string(), …)',
  set: 'a Set has no JSON form; use z.array(…)',
  symbol: 'a symbol has no JSON form; use z.string() or z.enum([…])',
  undefined: 'undefined has no JSON form; use .optional() on the member, z.null(), or omit the schema',
  void: 'void has no JSON form; use z.null(), or omit the schema',
  nan: 'NaN has no JSON form; use z.number().nullable()',
  custom: 'z.custom() and z.instanceof() accept any value; describe the data with z.object({…})',
  function: 'a function has no JSON form; describe the data instead',
  promise: 'a promise has no JSON form; describe the value that it resolves to',
  file: 'a file has no JSON form; use a path or z.base64()',
  transform: 'a transform produces another value; validate here and convert inside execute',
  success: 'z.success() produces another value; describe the data itself',
};

/** Returns the reason why a schema is unusable, with the replacement; undefined for a usable schema. */
function replacementFor(definition: Definition): string | undefined {
  if (definition['coerce'] === true) {
    return `z.coerce.${definition.type}() may produce a value that differs from the value it reads; use z.${definition.type}()`;
  }
  if (definition.type === 'pipe' && definition['transform'] !== undefined) {
    return 'a codec (or z.stringbool()) produces another value; use the schema of the JSON side and convert inside execute';
  }
  if (definition.type === 'literal') {
    const odd = (definition['values'] as unknown[]).some((value) => typeof value === 'bigint' || value === undefined);
    return odd ? 'this literal has no JSON form; use a string, a number, a boolean or null' : undefined;
  }
  return Object.hasOwn(REPLACEMENTS, definition.type) ? REPLACEMENTS[definition.type] : undefined;
}

function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
