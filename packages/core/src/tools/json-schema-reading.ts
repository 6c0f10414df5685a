import { ToolscriptUsageError } from '../protocol/errors.js';
import { type JsonObject, isRecord } from '../protocol/json.js';
import { judgePattern } from './safe-pattern.js';
import { isLocalReference, isSchemaNode, resolveReference, type SchemaNode } from './schema-lookup.js';

/**
 * An untrusted JSON Schema, converted to a schema that is safe to validate with. The converted schema consists of known
 * keywords with values of the right shape. Every reference in the schema points to the `$defs` of the schema. Spellings
 * of older drafts are converted to 2020-12. Patterns that could take too long are removed or bounded, and `uniqueItems`
 * is bounded. Every schema reports the cost of each use to `onUse`, so that a validation can have a budget.
 */
export interface ReadSchema {
  readonly schema: SchemaNode;
  readonly notes: readonly string[];
}

/** `start`: the schema inside the root that is read. Default: the root itself. */
export function readJsonSchema(
  root: JsonObject,
  where: string,
  onUse: (cost: number) => void,
  start: JsonObject = root,
): ReadSchema {
  return new SchemaReader(root, where, onUse).read(start);
}

/**
 * The property that the validator reads exactly once for each use of a schema, and that the converted schemas use for
 * nothing else.
 */
const USE_PROBE = '$recursiveAnchor';

const MAX_SCHEMA_DEPTH = 64;
const MAX_SCHEMAS = 20_000;
/** The maximum length of a list that is searched for duplicates. */
const MAX_UNIQUE_ITEMS = 500;
const FEW_UNIQUE_ITEMS = 20;
/** The cost of `uniqueItems` for a short list, then for a longer list: each item is compared with every other item. */
const COST_OF_FEW_UNIQUE_ITEMS = 20;
const COST_OF_UNIQUE_ITEMS = 12_000;
/** The number of `enum` values, or of names in `required`, whose search takes as long as one schema. */
const CHOICES_AT_ONCE = 20;
const MAX_PATTERN_KEY_LENGTH = 300;
const COST_OF_PATTERN = 20;

const TYPES: readonly unknown[] = ['string', 'number', 'integer', 'boolean', 'null', 'array', 'object'];
/** Formats that are checked, each in linear time. All others are only informative. */
const CHECKED_FORMATS: readonly unknown[] = ['date', 'time', 'date-time', 'duration', 'email', 'ipv4', 'uuid'];
const COUNTS = [
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
  'minContains',
  'maxContains',
];
const BOUNDS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'];
const SINGLE_SCHEMAS = [
  'not',
  'if',
  'then',
  'else',
  'contains',
  'propertyNames',
  'additionalProperties',
  'unevaluatedProperties',
  'unevaluatedItems',
];
const SCHEMA_LISTS = ['allOf', 'anyOf', 'oneOf'];

type MutableSchema = Record<string, unknown>;

class SchemaReader {
  readonly #root: JsonObject;
  readonly #where: string;
  readonly #onUse: (cost: number) => void;
  readonly #legacyReferences: boolean;
  readonly #notes = new Set<string>();
  /** The names of the referenced schemas in `$defs`. */
  readonly #definitions = new Map<SchemaNode, string>();
  readonly #unread: { target: SchemaNode; name: string }[] = [];
  #count = 0;

  constructor(root: JsonObject, where: string, onUse: (cost: number) => void) {
    this.#root = root;
    this.#where = where;
    this.#onUse = onUse;
    this.#legacyReferences = /draft-0[34567]/.test(String(root['$schema'] ?? ''));
  }

  read(start: JsonObject): ReadSchema {
    const schema = this.#node(start, []) as MutableSchema;
    const definitions: MutableSchema = Object.create(null) as MutableSchema;
    for (let next = this.#unread.pop(); next !== undefined; next = this.#unread.pop()) {
      definitions[next.name] = this.#node(next.target, ['$defs', next.name]);
    }
    schema['$defs'] = definitions;
    return { schema: schema as SchemaNode, notes: [...this.#notes] };
  }

  #node(node: unknown, path: readonly string[]): unknown {
    if (!isSchemaNode(node)) return this.#refuse(path, 'a schema must be an object, true or false');
    if (typeof node === 'boolean') return node;
    this.#count += 1;
    // defence: schema-size-is-capped
    if (path.length > MAX_SCHEMA_DEPTH || this.#count > MAX_SCHEMAS)
      return this.#refuse(path.slice(0, 8), 'the schema is too large; remove parts of it');
    const read: MutableSchema = {};
    const reference = node['$ref'] ?? node['$dynamicRef'] ?? node['$recursiveRef'];
    if (reference !== undefined) read['$ref'] = this.#reference(reference, path);
    if (reference === undefined || !this.#legacyReferences) this.#keywords(node, read, path);
    return this.#probed(read, costOf(read));
  }

  #keywords(node: JsonObject, read: MutableSchema, path: readonly string[]): void {
    this.#values(node, read, path);
    for (const keyword of SINGLE_SCHEMAS) {
      if (node[keyword] !== undefined) read[keyword] = this.#node(node[keyword], [...path, keyword]);
    }
    for (const keyword of SCHEMA_LISTS) {
      if (node[keyword] !== undefined) read[keyword] = this.#list(node[keyword], [...path, keyword]);
    }
    for (const keyword of ['properties', 'dependentSchemas']) {
      if (node[keyword] !== undefined) read[keyword] = this.#map(node[keyword], [...path, keyword]);
    }
    this.#items(node, read, path);
    this.#dependencies(node, read, path);
    this.#patternProperties(node, read, path);
    this.#pattern(node, read, path);
    this.#uniqueItems(node, read);
    if (node['nullable'] === true) this.#allowNull(read);
  }

  #values(node: JsonObject, read: MutableSchema, path: readonly string[]): void {
    const type = node['type'];
    if (type !== undefined) {
      const types = Array.isArray(type) ? type : [type];
      if (types.length === 0 || !types.every((name) => TYPES.includes(name)))
        this.#refuse(
          [...path, 'type'],
          'is not a JSON type; write "string", "number", "integer", "boolean", "null", "array" or "object"',
        );
      read['type'] = type;
    }
    if ('const' in node) read['const'] = node['const'];
    if (node['enum'] !== undefined)
      read['enum'] = Array.isArray(node['enum']) ? node['enum'] : this.#refuse([...path, 'enum'], 'must be a list');
    if (Array.isArray(node['required'])) read['required'] = this.#names(node['required'], [...path, 'required']);
    else if (node['required'] !== undefined && typeof node['required'] !== 'boolean')
      this.#refuse([...path, 'required'], 'must be a list of names');
    for (const keyword of [...COUNTS, ...BOUNDS]) this.#number(node, read, keyword, path);
    if (node['multipleOf'] !== undefined) {
      this.#number(node, read, 'multipleOf', path);
      if (!((read['multipleOf'] as number) > 0)) this.#refuse([...path, 'multipleOf'], 'must be greater than 0');
    }
    if (CHECKED_FORMATS.includes(node['format'])) read['format'] = node['format'];
    this.#draft4Bounds(node, read);
  }

  #number(node: JsonObject, read: MutableSchema, keyword: string, path: readonly string[]): void {
    const value = node[keyword];
    if (value === undefined || (typeof value === 'boolean' && BOUNDS.includes(keyword))) return;
    if (typeof value !== 'number' || !Number.isFinite(value)) this.#refuse([...path, keyword], 'must be a number');
    read[keyword] = value;
  }

  #draft4Bounds(node: JsonObject, read: MutableSchema): void {
    if (node['exclusiveMinimum'] === true) read['exclusiveMinimum'] = node['minimum'];
    if (node['exclusiveMaximum'] === true) read['exclusiveMaximum'] = node['maximum'];
  }

  #items(node: JsonObject, read: MutableSchema, path: readonly string[]): void {
    const items = node['items'];
    if (Array.isArray(items)) {
      read['prefixItems'] = this.#list(items, [...path, 'items']);
      if (node['additionalItems'] !== undefined)
        read['items'] = this.#node(node['additionalItems'], [...path, 'additionalItems']);
      return;
    }
    if (node['prefixItems'] !== undefined)
      read['prefixItems'] = this.#list(node['prefixItems'], [...path, 'prefixItems']);
    if (items !== undefined) read['items'] = this.#node(items, [...path, 'items']);
  }

  /** Converts `dependencies` and `dependentRequired` to `dependentSchemas`. */
  #dependencies(node: JsonObject, read: MutableSchema, path: readonly string[]): void {
    const schemas: MutableSchema = (read['dependentSchemas'] as MutableSchema | undefined) ?? {};
    for (const keyword of ['dependentRequired', 'dependencies']) {
      const value = node[keyword];
      if (value === undefined) continue;
      if (!isRecord(value)) return void this.#refuse([...path, keyword], 'must be an object');
      for (const key of Object.keys(value)) {
        const place = [...path, keyword, key];
        const needs = value[key];
        const schema = Array.isArray(needs)
          ? this.#probed({ required: this.#names(needs, place) })
          : this.#node(needs, place);
        setOwn(schemas, key, Object.hasOwn(schemas, key) ? this.#probed({ allOf: [schemas[key], schema] }) : schema);
      }
    }
    if (Object.keys(schemas).length > 0) read['dependentSchemas'] = schemas;
  }

  #patternProperties(node: JsonObject, read: MutableSchema, path: readonly string[]): void {
    const patterns = node['patternProperties'];
    if (patterns === undefined) return;
    if (!isRecord(patterns)) this.#refuse([...path, 'patternProperties'], 'must be an object');
    const kept: MutableSchema = {};
    for (const [pattern, schema] of Object.entries(patterns as object)) {
      const verdict = judgePattern(pattern);
      if (verdict.safe && verdict.maxLength >= MAX_PATTERN_KEY_LENGTH) {
        setOwn(kept, pattern, this.#node(schema, [...path, 'patternProperties', pattern]));
        continue;
      }
      this.#note(
        path,
        `keys are not checked against the pattern ${quote(pattern)}: ${verdict.safe ? 'it may take too long' : verdict.reason}`,
      );
      delete read['additionalProperties'];
      delete read['unevaluatedProperties'];
    }
    read['patternProperties'] = kept;
    this.#alsoMatch(read, { propertyNames: this.#probed({ maxLength: MAX_PATTERN_KEY_LENGTH }) });
  }

  #pattern(node: JsonObject, read: MutableSchema, path: readonly string[]): void {
    const pattern = node['pattern'];
    if (pattern === undefined) return;
    if (typeof pattern !== 'string') return void this.#refuse([...path, 'pattern'], 'must be a string');
    const verdict = judgePattern(pattern);
    // defence: unsafe-patterns-are-not-tested
    if (!verdict.safe)
      return this.#note(path, `is not checked against the pattern ${quote(pattern)}: ${verdict.reason}`);
    const tested = this.#probed({ pattern }, COST_OF_PATTERN);
    this.#alsoMatch(read, implies(this.#probed({ type: 'string', maxLength: verdict.maxLength }), tested));
  }

  #uniqueItems(node: JsonObject, read: MutableSchema): void {
    if (node['uniqueItems'] !== true) return;
    const test = (minItems: number, maxItems: number, cost: number): void =>
      this.#alsoMatch(
        read,
        implies(this.#probed({ type: 'array', minItems, maxItems }), this.#probed({ uniqueItems: true }, cost)),
      );
    test(0, FEW_UNIQUE_ITEMS, COST_OF_FEW_UNIQUE_ITEMS);
    test(FEW_UNIQUE_ITEMS + 1, MAX_UNIQUE_ITEMS, COST_OF_UNIQUE_ITEMS);
  }

  #allowNull(read: MutableSchema): void {
    if (typeof read['type'] === 'string') read['type'] = [read['type'], 'null'];
    if (Array.isArray(read['enum']) && !read['enum'].includes(null))
      read['enum'] = [...(read['enum'] as unknown[]), null];
  }

  #alsoMatch(read: MutableSchema, schema: MutableSchema): void {
    read['allOf'] = [...((read['allOf'] as unknown[] | undefined) ?? []), this.#probed(schema)];
  }

  #reference(reference: unknown, path: readonly string[]): string {
    if (!isLocalReference(reference)) {
      this.#refuse(
        [...path, '$ref'],
        `points outside of the schema (${quote(String(reference))}); copy the schema at this reference into $defs`,
      );
    }
    const target = resolveReference(this.#root, reference as string);
    if (target === undefined)
      return this.#refuse(
        [...path, '$ref'],
        `the schema has nothing at ${quote(String(reference))}; correct the reference`,
      );
    let name = this.#definitions.get(target);
    if (name === undefined) {
      name = `d${this.#definitions.size}`;
      this.#definitions.set(target, name);
      this.#unread.push({ target, name });
    }
    return `#/$defs/${name}`;
  }

  #list(value: unknown, path: readonly string[]): unknown[] {
    if (!Array.isArray(value)) return this.#refuse(path, 'must be a list of schemas');
    return value.map((schema, index) => this.#node(schema, [...path, String(index)]));
  }

  #map(value: unknown, path: readonly string[]): MutableSchema {
    if (!isRecord(value)) return this.#refuse(path, 'must be an object of schemas');
    const read: MutableSchema = {};
    for (const key of Object.keys(value)) setOwn(read, key, this.#node(value[key], [...path, key]));
    return read;
  }

  #names(value: readonly unknown[], path: readonly string[]): string[] {
    return value.every((name) => typeof name === 'string')
      ? [...(value as string[])]
      : this.#refuse(path, 'must be a list of names');
  }

  #probed(schema: MutableSchema, cost = 1): MutableSchema {
    const onUse = this.#onUse;
    return Object.defineProperty(schema, USE_PROBE, { enumerable: false, get: () => void onUse(cost) });
  }

  #note(path: readonly string[], text: string): void {
    this.#notes.add(`${placeOf(path)} ${text}.`);
  }

  #refuse(path: readonly string[], reason: string): never {
    throw new ToolscriptUsageError(`${this.#where} is not a usable JSON Schema at ${placeOf(path)}: ${reason}.`);
  }
}

/**
 * Returns the cost of one use, excluding inner schemas. The errors of a union's branches are copied at each level above
 * the union.
 */
function costOf({ enum: choices, required, anyOf, oneOf }: MutableSchema): number {
  const length = (list: unknown): number => (Array.isArray(list) ? list.length : 0);
  const lookedThrough = length(choices) + length(required);
  return 1 + Math.floor(lookedThrough / CHOICES_AT_ONCE) + 2 * (length(anyOf) + length(oneOf));
}

function implies(condition: MutableSchema, consequence: MutableSchema): MutableSchema {
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  return { if: condition, then: consequence };
}

/** Sets an own property, even for `__proto__`. */
function setOwn(record: MutableSchema, key: string, value: unknown): void {
  // defence: schema-members-are-own, without it: record[key] = value;
  Object.defineProperty(record, key, { value, enumerable: true, configurable: true, writable: true });
}

function placeOf(path: readonly string[]): string {
  return path.length === 0 ? '#' : `#/${path.join('/')}`.slice(0, 200);
}

function quote(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}
