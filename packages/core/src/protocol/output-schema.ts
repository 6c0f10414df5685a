import { modelFacts } from './known-models.js';

/** The JSON Schemas of an answer that a service accepts. */
interface Dialect {
  /** The members that the service enforces besides those that give a value its shape. */
  readonly enforced: readonly string[];
  /** Whether every property must be required. */
  readonly allRequired: boolean;
  /** The maximum number of properties that are not required. */
  readonly maxOptional: number;
  /** Whether a schema may refer to itself. */
  readonly recursive: boolean;
  /** The maximum depth of objects. */
  readonly maxDepth: number;
}

const LIMITS_OF_NUMBERS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'];

/*
 * Sources, read on 2026-11-28: https://jsonschemaprofiles.unitvectorylabs.com/schemas/openai and
 * https://github.com/thevibeworks/claude-code-docs/blob/main/content/en/build-with-claude/structured-outputs.md.
 */
const OPENAI: Dialect = {
  enforced: ['pattern', 'format', 'minItems', 'maxItems', ...LIMITS_OF_NUMBERS],
  allRequired: true,
  maxOptional: 0,
  recursive: true,
  maxDepth: 10,
};

const ANTHROPIC: Dialect = { enforced: [], allRequired: false, maxOptional: 24, recursive: false, maxDepth: 10 };

const DIALECTS: Readonly<Record<string, Dialect>> = {
  'openai-responses': OPENAI,
  'openai-chat': OPENAI,
  'anthropic-messages': ANTHROPIC,
};

/** The members that only narrow the values of a shape. A service that does not enforce them reads them as text. */
const NARROWING = new Set([
  ...LIMITS_OF_NUMBERS,
  'minLength',
  'maxLength',
  'pattern',
  'format',
  'minItems',
  'maxItems',
  'uniqueItems',
  'minProperties',
  'maxProperties',
]);
const SHAPING = new Set(['type', 'enum', 'const', 'title', 'description']);
/** The members that say nothing about a value. */
const SILENT = new Set(['$schema', '$id', '$comment', 'default', 'examples', 'deprecated', 'readOnly', 'writeOnly']);

type Schema = Readonly<Record<string, unknown>>;

/**
 * The form in which the service of a model enforces the JSON Schema of an answer. Undefined if the model enforces none,
 * or not this one: then the prompt must ask for it. Values may have to be checked even so, because some limits become
 * part of the descriptions.
 */
export function enforcedSchema(api: string, model: string, schema: unknown): Schema | undefined {
  if (modelFacts(model).structuredOutput !== true || !Object.hasOwn(DIALECTS, api)) return undefined;
  if (!isSchema(schema) || schema['type'] !== 'object') return undefined;
  try {
    return new Translation(DIALECTS[api]!, schema).root();
  } catch (error) {
    if (error instanceof Untranslatable) return undefined;
    throw error;
  }
}

class Untranslatable extends Error {}

class Translation {
  readonly #dialect: Dialect;
  readonly #source: Schema;
  readonly #definitions: Schema;
  #optional = 0;

  constructor(dialect: Dialect, source: Schema) {
    this.#dialect = dialect;
    this.#source = source;
    this.#definitions = members(source['$defs'] ?? {});
    if (!dialect.recursive && Object.keys(this.#definitions).some((name) => this.#reaches(name, name, new Set())))
      throw new Untranslatable();
  }

  root(): Schema {
    const { $defs: _definitions, ...root } = this.#source;
    const definitions = Object.entries(this.#definitions).map(([name, schema]) => [name, this.#schema(schema, 0)]);
    return {
      ...this.#schema(root, 0),
      ...(definitions.length === 0 ? {} : { $defs: Object.fromEntries(definitions) as Schema }),
    };
  }

  #schema(value: unknown, depth: number): Schema {
    const schema = members(value);
    if (depth > this.#dialect.maxDepth) throw new Untranslatable();
    const result: Record<string, unknown> = {};
    const notes: Record<string, unknown> = {};
    for (const [name, member] of Object.entries(schema)) {
      if (SHAPING.has(name) || this.#dialect.enforced.includes(name)) result[name] = member;
      else if (NARROWING.has(name)) notes[name] = member;
      else if (!SILENT.has(name)) this.#structure(result, name, { schema, depth });
    }
    if (schema['type'] === 'object') this.#object(result, schema);
    const isShaped = ['type', 'enum', 'const', 'anyOf', '$ref'].some((name) => Object.hasOwn(result, name));
    const values = [schema['enum'] ?? [], schema['const'] ?? null].flat();
    if (!isShaped || values.some((one) => typeof one === 'object' && one !== null)) throw new Untranslatable();
    if (Object.keys(notes).length > 0)
      result['description'] = [schema['description'], JSON.stringify(notes)]
        .filter((text) => text !== undefined)
        .join(' ');
    return result;
  }

  #structure(
    result: Record<string, unknown>,
    name: string,
    { schema, depth }: { schema: Schema; depth: number },
  ): void {
    const member = schema[name];
    if (name === 'items') result[name] = this.#schema(member, depth);
    else if (name === 'anyOf' && depth > 0 && Array.isArray(member))
      result[name] = member.map((one) => this.#schema(one, depth));
    else if (name === 'properties')
      result[name] = Object.fromEntries(
        Object.entries(members(member)).map(([key, one]) => [key, this.#schema(one, depth + 1)]),
      );
    else if (name === '$ref' && this.#hasDefinition(member)) result[name] = member;
    else if (name !== 'required' && name !== 'additionalProperties') throw new Untranslatable();
  }

  /** An object has only its properties, as everywhere in Toolscript. */
  #object(result: Record<string, unknown>, { properties, required = [], additionalProperties = false }: Schema): void {
    if (!isSchema(properties) || additionalProperties !== false || !Array.isArray(required)) throw new Untranslatable();
    const optional = Object.keys(properties).filter((name) => !required.includes(name)).length;
    this.#optional += optional;
    const { allRequired, maxOptional } = this.#dialect;
    if ((allRequired && optional > 0) || this.#optional > maxOptional) throw new Untranslatable();
    result['required'] = required;
    result['additionalProperties'] = false;
  }

  #hasDefinition(reference: unknown): boolean {
    return definitionName(reference) !== undefined && Object.hasOwn(this.#definitions, definitionName(reference)!);
  }

  #reaches(name: string, wanted: string, seen: Set<string>): boolean {
    if (seen.has(name)) return false;
    seen.add(name);
    const next = references(this.#definitions[name]);
    return next.includes(wanted) || next.some((one) => this.#reaches(one, wanted, seen));
  }
}

function references(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(references);
  if (!isSchema(value)) return [];
  const own = definitionName(value['$ref']);
  return [...(own === undefined ? [] : [own]), ...Object.values(value).flatMap(references)];
}

function definitionName(reference: unknown): string | undefined {
  const prefix = '#/$defs/';
  return typeof reference === 'string' && reference.startsWith(prefix) ? reference.slice(prefix.length) : undefined;
}

function members(value: unknown): Schema {
  if (!isSchema(value)) throw new Untranslatable();
  return value;
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
