import { ToolscriptUsageError } from '../protocol/errors.js';
import { isRecord, type JsonObject, type JsonValue } from '../protocol/json.js';
import { judgePattern } from './safe-pattern.js';
import { BOUNDS, MAX_PATTERN_KEY_LENGTH, Schema, type SchemaNode, type SchemaPattern } from './tree.js';

/** A JSON Schema, read once. */
export interface SchemaTree {
  readonly root: Schema;
  /** Every schema that the root contains or refers to, with the JSON that it was read from. */
  readonly schemas: ReadonlyMap<object, Schema>;
  /** Sentences about the rules that are not checked. */
  readonly notes: ReadonlySet<string>;
}

const trees = new WeakMap<JsonObject, SchemaTree>();

/** Returns the tree of a JSON Schema that no longer changes. Keywords with wrong values are skipped. */
export function schemaTree(json: JsonObject): SchemaTree {
  let tree = trees.get(json);
  if (tree === undefined) trees.set(json, (tree = new SchemaReader(json).read()));
  return tree;
}

/**
 * Reads an untrusted JSON Schema, for validation. Throws a `ToolscriptUsageError` whose message begins with `where` for
 * an unusable schema. Reads nothing outside of the schema. A pattern that could take too long becomes a note.
 * `skipsFlaws`: a keyword with a wrong value becomes a note too, and is not checked.
 */
export function readUntrustedSchema(json: JsonObject, where: string, skipsFlaws = false): SchemaTree {
  const tree = new SchemaReader(json, where, skipsFlaws).read();
  trees.set(json, tree);
  return tree;
}

const MAX_SCHEMA_DEPTH = 64;
const MAX_SCHEMAS = 20_000;

const TYPES: readonly unknown[] = ['string', 'number', 'integer', 'boolean', 'null', 'array', 'object'];
/** The keywords that a `Schema` has under the same names, by the form of their values. */
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
] as const;
const SCHEMA_LISTS = ['allOf', 'anyOf', 'oneOf', 'prefixItems'] as const;
const DEPENDENCIES = ['dependentSchemas', 'dependentRequired', 'dependencies'] as const;
const NUMBERS = ['minContains', 'maxContains', 'multipleOf'] as const;

function includesKeyword<Keyword extends string>(keywords: readonly Keyword[], keyword: string): keyword is Keyword {
  return (keywords as readonly string[]).includes(keyword);
}

type Json = Readonly<Record<string, unknown>>;
type Path = readonly string[];

class SchemaReader {
  readonly #root: JsonObject;
  /** The subject of errors; undefined if wrong keywords are skipped and patterns are not judged. */
  readonly #where: string | undefined;
  readonly #skipsFlaws: boolean;
  /** True in drafts 3 to 7 of JSON Schema, in which a reference replaces the keywords beside it. */
  readonly #referenceReplaces: boolean;
  readonly #schemas = new Map<object, Schema>();
  readonly #notes = new Set<string>();
  readonly #references: { readonly schema: Schema; readonly target: unknown; readonly path: Path }[] = [];
  /** The length of the path at which the reader started. */
  #start = 0;

  constructor(root: JsonObject, where?: string, skipsFlaws = false) {
    this.#root = root;
    this.#where = where;
    this.#skipsFlaws = skipsFlaws;
    this.#referenceReplaces = /draft-0[34567]/.test(String(root['$schema'] ?? ''));
  }

  read(): SchemaTree {
    const root = this.#node(this.#root, []) as Schema;
    // The schema that a reference leads to may add references.
    for (const { schema, target, path } of this.#references) {
      this.#start = path.length;
      schema.reference!.target = this.#node(target, path);
    }
    if (this.#skipsFlaws) this.#cutCircles();
    return { root, schemas: this.#schemas, notes: this.#notes };
  }

  /** Refuses references that lead back to themselves for the same value: no value could be checked against them. */
  #cutCircles(): void {
    const done = new Set<Schema>();
    for (const first of this.#schemas.values()) {
      const way = [{ schema: first, open: done.has(first) ? [] : sameValueSchemas(first) }];
      const depths = new Map([[first, 0]]);
      /** The schemas of the way whose references lead to the next one, with their depths. */
      const referring: { readonly schema: Schema; readonly depth: number }[] = [];
      for (let last = way.at(-1); last !== undefined; last = way.at(-1)) {
        const { schema } = last;
        const next = last.open.pop();
        if (next === undefined) {
          way.pop();
          depths.delete(schema);
          done.add(schema);
          if (referring.at(-1)?.depth === way.length - 1) referring.pop();
        } else if (next !== false && !done.has(next)) {
          const isReference = schema.reference?.target === next;
          if (isReference) referring.push({ schema, depth: way.length - 1 });
          const depth = depths.get(next);
          if (depth === undefined) {
            depths.set(next, way.length);
            way.push({ schema: next, open: sameValueSchemas(next) });
          } else if ((referring.at(-1)?.depth ?? -1) >= depth) this.#cut(referring.pop()!.schema);
        }
      }
    }
  }

  #cut(schema: Schema): void {
    this.#refuse([...schema.path, '$ref'], 'leads back to itself; remove the reference');
    schema.reference = undefined;
  }

  #node(json: unknown, path: Path): SchemaNode {
    if (json === false) return false;
    const known = this.#schemas.get(json as object);
    if (known !== undefined) return known;
    const schema = new Schema(path);
    schema.isEmpty = json === true || (isRecord(json) && Object.keys(json).length === 0);
    if (json === true) return schema;
    if (!isRecord(json)) return this.#refuse(path, 'a schema must be an object, true or false', schema);
    this.#schemas.set(json, schema);
    // defence: schema-size-is-capped
    if (path.length - this.#start > MAX_SCHEMA_DEPTH || this.#schemas.size > MAX_SCHEMAS) {
      if (this.#where !== undefined)
        throw unusable(this.#where, path.slice(0, 8), 'the schema is too large; remove parts of it');
      return schema;
    }
    this.#annotations(schema, json);
    const reference = json['$ref'] ?? json['$dynamicRef'] ?? json['$recursiveRef'];
    if (reference !== undefined) this.#reference(schema, reference, path);
    if (reference === undefined || !this.#referenceReplaces) this.#keywords(schema, json, path);
    return schema;
  }

  #annotations(schema: Schema, json: Json): void {
    if (typeof json['description'] === 'string') schema.description = json['description'];
    if (typeof json['format'] === 'string') schema.format = json['format'];
    schema.isBase64 = json['contentEncoding'] === 'base64' || json['format'] === 'byte';
    schema.default = json['default'] as JsonValue | undefined;
    schema.deprecated = json['deprecated'] === true;
    schema.nullable = json['nullable'] === true;
  }

  #keywords(schema: Schema, json: Json, path: Path): void {
    this.#values(schema, json, path);
    for (const keyword of Object.keys(json)) {
      const place = [...path, keyword];
      const value = json[keyword];
      if (value === undefined) continue;
      if (includesKeyword(SINGLE_SCHEMAS, keyword)) schema[keyword] = this.#node(value, place);
      else if (includesKeyword(SCHEMA_LISTS, keyword)) schema[keyword] = this.#list(value, place);
      else if (includesKeyword(DEPENDENCIES, keyword)) this.#dependencies(schema, value, place);
      else if (includesKeyword(NUMBERS, keyword)) schema[keyword] = this.#number(value, place);
      else if (Object.hasOwn(BOUNDS, keyword)) this.#bound(schema, json, keyword as keyof typeof BOUNDS, place);
      else if (keyword === 'properties') schema.properties = this.#map(value, place);
      else if (keyword === 'patternProperties') this.#patternProperties(schema, value, place);
      else if (keyword === 'pattern') schema.pattern = this.#pattern(value, path);
      else if (keyword === 'items') this.#items(schema, json, path);
    }
  }

  #values(schema: Schema, { type, enum: choices, required, const: constant, uniqueItems }: Json, path: Path): void {
    const types: unknown[] = [type].flat();
    if (types.length > 0 && types.every((name) => TYPES.includes(name))) schema.types = types as string[];
    else if (type !== undefined)
      this.#refuse(
        [...path, 'type'],
        'is not a JSON type; write "string", "number", "integer", "boolean", "null", "array" or "object"',
      );
    if (constant !== undefined) schema.constant = { value: constant as JsonValue };
    if (Array.isArray(choices)) schema.choices = choices as JsonValue[];
    else if (choices !== undefined) this.#refuse([...path, 'enum'], 'must be a list');
    // Draft 3 has a boolean here.
    if (required !== undefined && typeof required !== 'boolean')
      schema.required = this.#names(required, [...path, 'required']);
    schema.uniqueItems = uniqueItems === true;
  }

  #number(value: unknown, path: Path): number | undefined {
    if (!Number.isFinite(value)) return this.#refuse(path, 'must be a number');
    if (path.at(-1) === 'multipleOf' && !((value as number) > 0)) return this.#refuse(path, 'must be greater than 0');
    return value as number;
  }

  #bound(schema: Schema, json: Json, keyword: keyof typeof BOUNDS, path: Path): void {
    // In draft 4, `exclusiveMinimum: true` stands beside `minimum`.
    const value = json[keyword] === true ? json[keyword.replace('exclusiveM', 'm')] : json[keyword];
    if (value === undefined || value === false) return;
    const limit = this.#number(value, path);
    if (limit !== undefined) schema.bounds = [...(schema.bounds ?? []), { keyword, limit }];
  }

  #items(schema: Schema, { items, additionalItems }: Json, path: Path): void {
    if (!Array.isArray(items)) schema.items = this.#node(items, [...path, 'items']);
    else {
      schema.prefixItems = this.#list(items, [...path, 'items']);
      if (additionalItems !== undefined) schema.items = this.#node(additionalItems, [...path, 'additionalItems']);
    }
  }

  /** Reads `dependentSchemas`, `dependentRequired`, and the `dependencies` of older drafts, which may have both. */
  #dependencies(schema: Schema, value: unknown, path: Path): void {
    if (!isRecord(value)) return this.#refuse(path, 'must be an object of schemas');
    const dependents = new Map(schema.dependentSchemas);
    for (const [key, need] of Object.entries(value)) {
      const place = [...path, key];
      const added = Array.isArray(need)
        ? Object.assign(new Schema(place), { required: this.#names(need, place) })
        : this.#node(need, place);
      const other = dependents.get(key);
      dependents.set(key, other === undefined ? added : Object.assign(new Schema(place), { allOf: [other, added] }));
    }
    schema.dependentSchemas = dependents;
  }

  #patternProperties(schema: Schema, value: unknown, path: Path): void {
    const outer = path.slice(0, -1);
    schema.patternProperties = [...(this.#map(value, path) ?? [])].map(([source, member]) => {
      const pattern = this.#safePattern(source, outer, 'keys are not checked', MAX_PATTERN_KEY_LENGTH);
      return { pattern: pattern?.expression, schema: member };
    });
  }

  #pattern(value: unknown, path: Path): SchemaPattern | undefined {
    if (typeof value === 'string') return this.#safePattern(value, path, 'is not checked', 0);
    return this.#refuse([...path, 'pattern'], 'must be a string');
  }

  /** `minLength`: texts up to this length must be testable. */
  #safePattern(source: string, path: Path, consequence: string, minLength: number): SchemaPattern | undefined {
    if (this.#where === undefined) return undefined;
    const verdict = judgePattern(source);
    // defence: unsafe-patterns-are-not-tested
    if (!verdict.safe || verdict.maxLength < minLength) {
      const reason = verdict.safe ? 'it may take too long' : verdict.reason;
      this.#notes.add(`${placeText(path)} ${consequence} against the pattern ${quote(source)}: ${reason}.`);
      return undefined;
    }
    return { source, expression: new RegExp(source, 'u'), maxLength: verdict.maxLength };
  }

  #reference(schema: Schema, reference: unknown, path: Path): void {
    const name = withoutId(reference, this.#root['$id']);
    schema.reference = { name, target: undefined };
    const place = [...path, '$ref'];
    const refuse = (reason: string) => {
      this.#refuse(place, reason);
      if (this.#skipsFlaws) schema.reference = undefined;
    };
    // defence: references-stay-inside
    if (!name.startsWith('#'))
      return refuse(`points outside of the schema (${quote(name)}); copy the schema at this reference into $defs`);
    const target = referenceTarget(this.#root, name);
    if (typeof target === 'boolean' || isRecord(target))
      this.#references.push({ schema, target, path: name.split(/[#/]/).filter((part) => part !== '') });
    else refuse(`the schema has nothing at ${quote(name)}; correct the reference`);
  }

  #list(value: unknown, path: Path): readonly SchemaNode[] | undefined {
    if (!Array.isArray(value)) return this.#refuse(path, 'must be a list of schemas');
    return value.map((item, index) => this.#node(item, [...path, String(index)]));
  }

  #map(value: unknown, path: Path): ReadonlyMap<string, SchemaNode> | undefined {
    if (!isRecord(value)) return this.#refuse(path, 'must be an object of schemas');
    return new Map(Object.entries(value).map(([key, member]) => [key, this.#node(member, [...path, key])]));
  }

  #names(value: unknown, path: Path): readonly string[] {
    if (Array.isArray(value) && value.every((name) => typeof name === 'string')) return value as string[];
    return this.#refuse(path, 'must be a list of names', []);
  }

  #refuse<Fallback = undefined>(path: Path, reason: string, fallback?: Fallback): Fallback {
    if (this.#where !== undefined && !this.#skipsFlaws) throw unusable(this.#where, path, reason);
    if (this.#where !== undefined) this.#notes.add(`${placeText(path)}: ${reason}. It is not checked.`);
    return fallback as Fallback;
  }
}

/** The schemas that judge the same value as the schema. */
function sameValueSchemas(schema: Schema): SchemaNode[] {
  const { reference, allOf, anyOf, oneOf, not, if: condition, then, else: otherwise, dependentSchemas } = schema;
  const lists = [allOf, anyOf, oneOf, dependentSchemas?.values()].flatMap((list) => [...(list ?? [])]);
  return [reference?.target, not, condition, then, otherwise, ...lists].filter((one) => one !== undefined);
}

function unusable(where: string, path: Path, reason: string): ToolscriptUsageError {
  return new ToolscriptUsageError('JSON_SCHEMA_UNUSABLE', { where, place: ` at ${placeText(path)}`, reason });
}

/** A reference to the document itself, by the document's own `$id`, as a reference inside of the document. */
function withoutId(reference: unknown, id: unknown): string {
  const name = String(reference);
  if (typeof id !== 'string' || id === '' || id.endsWith('#')) return name;
  if (name === id) return '#';
  return name.startsWith(`${id}#`) ? name.slice(id.length) : name;
}

/** Returns what a reference leads to. Never reads another document. */
function referenceTarget(root: JsonObject, reference: string): unknown {
  if (reference === '#') return root;
  return reference.startsWith('#/') ? pointerTarget(root, reference.slice(2)) : anchorTarget(root, reference.slice(1));
}

function pointerTarget(root: unknown, pointer: string): unknown {
  let target: unknown = root;
  for (const part of pointer.split('/')) {
    const key = pointerKey(part);
    // defence: references-follow-own-members
    if (key === undefined || typeof target !== 'object' || target === null || !Object.hasOwn(target, key))
      return undefined;
    target = (target as Json)[key];
  }
  return target;
}

function pointerKey(part: string): string | undefined {
  try {
    return decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return undefined;
  }
}

function anchorTarget(root: JsonObject, anchor: string): unknown {
  const waiting: unknown[] = [root];
  while (waiting.length > 0) {
    const node = waiting.pop();
    if (typeof node !== 'object' || node === null) continue;
    const { $anchor, $dynamicAnchor } = node as Json;
    if ($anchor === anchor || $dynamicAnchor === anchor) return node;
    waiting.push(...Object.values(node));
  }
  return undefined;
}

function placeText(path: Path): string {
  return path.length === 0 ? '#' : `#/${path.join('/')}`.slice(0, 200);
}

function quote(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}
