import { isRecord, type JsonObject, type JsonValue } from '../protocol/json.js';
import type { ValuePath } from '../text/value-path.js';

/** A JSON Schema, or the boolean that stands for "everything" or "nothing". */
export type SchemaNode = JsonObject | boolean;

export function isSchemaNode(value: unknown): value is SchemaNode {
  return typeof value === 'boolean' || isRecord(value);
}

/** Whether a reference stays within its own document: `#`, `#/…` or `#anchor`. All other references are external. */
export function isLocalReference(reference: unknown): reference is string {
  // defence: references-stay-inside, without it: return typeof reference === 'string';
  return typeof reference === 'string' && reference.startsWith('#');
}

/**
 * Returns the target of a local reference; undefined if the target does not exist or is not a schema. Never reads
 * another document.
 */
export function resolveReference(root: SchemaNode, reference: string): SchemaNode | undefined {
  if (reference === '#') return root;
  const target = reference.startsWith('#/')
    ? resolvePointer(root, reference.slice(2))
    : findAnchor(root, reference.slice(1));
  return isSchemaNode(target) ? target : undefined;
}

function resolvePointer(root: SchemaNode, pointer: string): unknown {
  let target: unknown = root;
  for (const part of pointer.split('/')) {
    const key = decodePointerPart(part);
    // defence: references-follow-own-members, without it: if (key === undefined || typeof target !== 'object' || target === null) return undefined;
    if (key === undefined || typeof target !== 'object' || target === null || !Object.hasOwn(target, key))
      return undefined;
    target = (target as Record<string, unknown>)[key];
  }
  return target;
}

function decodePointerPart(part: string): string | undefined {
  try {
    return decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return undefined;
  }
}

function findAnchor(root: SchemaNode, anchor: string): unknown {
  const waiting: unknown[] = [root];
  while (waiting.length > 0) {
    const node = waiting.pop();
    if (typeof node !== 'object' || node === null) continue;
    const schema = node as Record<string, unknown>;
    if (schema['$anchor'] === anchor || schema['$dynamicAnchor'] === anchor) return schema;
    waiting.push(...Object.values(schema));
  }
  return undefined;
}

/** The expansions of schemas of one root, for repeated queries. */
export type Expansions = Map<SchemaNode, readonly JsonObject[]>;

/**
 * Returns the keys that a value at `path` may have according to the schema, for messages. Follows local references and
 * all branches of unions. `expansions`: the results of earlier queries about the same root.
 */
export function knownKeysAt(
  root: SchemaNode,
  path: readonly (string | number)[],
  expansions: Expansions = new Map(),
): string[] {
  let schemas = expandOnce(root, root, expansions);
  for (const part of path) {
    const children = new Set(schemas.map((schema) => childSchema(schema, part)));
    // Branches of a recursive schema lead to the same schemas again.
    schemas = [...new Set([...children].flatMap((child) => (child ? expandOnce(root, child, expansions) : [])))];
  }
  const keys = new Set<string>();
  for (const schema of schemas) {
    if (isRecord(schema['properties'])) for (const key of Object.keys(schema['properties'])) keys.add(key);
  }
  return [...keys];
}

function expandOnce(root: SchemaNode, schema: SchemaNode, expansions: Expansions): readonly JsonObject[] {
  let expanded = expansions.get(schema);
  if (expanded === undefined) expansions.set(schema, (expanded = expand(root, schema)));
  return expanded;
}

/** Returns the schema of one member or item. The references and branches of this schema are not followed. */
export function childSchema(schema: JsonObject, part: string | number): SchemaNode | undefined {
  const properties = schema['properties'];
  let child: unknown;
  if (typeof part === 'number') {
    const { prefix, rest } = itemSchemas(schema);
    child = part < prefix.length ? prefix[part] : rest;
  } else if (isRecord(properties) && Object.hasOwn(properties, part)) child = properties[part];
  else child = schema['additionalProperties'];
  return isSchemaNode(child) ? child : undefined;
}

/**
 * Returns the schemas of the first items of a list, and the schema of all other items. Also understands the keywords of
 * older drafts.
 */
export function itemSchemas(schema: JsonObject): { readonly prefix: readonly unknown[]; readonly rest: unknown } {
  const { items, prefixItems } = schema;
  if (Array.isArray(items)) return { prefix: items, rest: schema['additionalItems'] };
  return { prefix: Array.isArray(prefixItems) ? prefixItems : [], rest: items };
}

/**
 * Returns a schema, its references and the parts of its `allOf`: the schemas that apply for every branch of a union.
 */
export function certainSchemas(root: SchemaNode, start: SchemaNode, onStep: () => void = () => {}): JsonObject[] {
  if (!isRecord(start)) return [];
  if (start['$ref'] === undefined && start['allOf'] === undefined) return [start as JsonObject];
  const found = new Set<JsonObject>();
  const waiting: unknown[] = [start];
  while (waiting.length > 0) {
    const schema = waiting.pop();
    onStep();
    if (!isRecord(schema) || found.has(schema as JsonObject)) continue;
    found.add(schema as JsonObject);
    if (isLocalReference(schema['$ref'])) waiting.push(resolveReference(root, schema['$ref']));
    if (Array.isArray(schema['allOf'])) waiting.push(...(schema['allOf'] as unknown[]));
  }
  return [...found];
}

const BRANCH_KEYWORDS = ['allOf', 'anyOf', 'oneOf'] as const;
const CONDITION_KEYWORDS = ['then', 'else'] as const;
const MAX_EXPANSION = 200;

/**
 * Returns a schema and the schemas that may apply to the same value: its references, branches, conditional and
 * dependent schemas, up to `MAX_EXPANSION`.
 */
export function expand(root: SchemaNode, start: SchemaNode): JsonObject[] {
  const found = new Set<JsonObject>();
  const waiting: unknown[] = [start];
  while (waiting.length > 0 && found.size < MAX_EXPANSION) {
    const schema = waiting.pop();
    if (!isRecord(schema) || found.has(schema as JsonObject)) continue;
    found.add(schema as JsonObject);
    const reference = schema['$ref'];
    if (isLocalReference(reference)) waiting.push(resolveReference(root, reference));
    for (const keyword of BRANCH_KEYWORDS)
      if (Array.isArray(schema[keyword])) waiting.push(...(schema[keyword] as unknown[]));
    for (const keyword of CONDITION_KEYWORDS) waiting.push(schema[keyword]);
    if (isRecord(schema['dependentSchemas'])) waiting.push(...Object.values(schema['dependentSchemas']));
  }
  return [...found];
}

/** An object inside a value, with the schemas that describe it. */
export interface DescribedObject {
  readonly object: Record<string, JsonValue>;
  readonly path: ValuePath;
  /** The schemas that describe the object, before their references and branches are followed. */
  readonly starts: readonly SchemaNode[];
  /** The schemas of `starts`, with their references and branches. */
  readonly parts: readonly JsonObject[];
}

/** Answers queries about the objects of values that one schema describes, and caches the answers. */
export class ValueSchemas {
  readonly #root: JsonObject;
  readonly #expansions: Expansions = new Map();
  readonly #closedKeys = new Map<SchemaNode, ReadonlySet<string> | undefined>();

  constructor(root: JsonObject) {
    this.#root = root;
  }

  /** Visits the objects of a value, outer objects first. `onStep` is called for each step of the visit. */
  visit(value: JsonValue, visit: (described: DescribedObject) => void, onStep: () => void = () => {}): void {
    this.#visit(value, [this.#root], [], visit, onStep);
  }

  /**
   * Returns the keys that the object may have; undefined if it may have any key. The `properties` of a schema close the
   * object, unless the schema allows other keys, or one of the schema's alternatives accepts any object.
   */
  closedKeys({ starts }: Pick<DescribedObject, 'starts'>): ReadonlySet<string> | undefined {
    const closed = starts.map((start) => this.#keysOf(start));
    if (closed.length === 0 || closed.includes(undefined)) return undefined;
    return closed.length === 1 ? closed[0] : new Set((closed as ReadonlySet<string>[]).flatMap((keys) => [...keys]));
  }

  #visit(
    value: JsonValue,
    starts: readonly SchemaNode[],
    path: readonly (string | number)[],
    visit: (described: DescribedObject) => void,
    onStep: () => void,
  ): void {
    if (typeof value !== 'object' || value === null || starts.length === 0) return;
    const parts =
      starts.length === 1 ? this.#expand(starts[0] as SchemaNode) : starts.flatMap((start) => this.#expand(start));
    const inner = (key: string | number, member: JsonValue): void => {
      if (typeof member !== 'object' || member === null) return;
      const found = new Set<SchemaNode>();
      for (const part of parts) {
        onStep();
        const child = childSchema(part, key);
        if (child !== undefined) found.add(child);
      }
      this.#visit(member, [...found], [...path, key], visit, onStep);
    };
    if (Array.isArray(value)) return value.forEach((item: JsonValue, index) => inner(index, item));
    const object = value as Record<string, JsonValue>;
    onStep();
    visit({ object, path, starts, parts });
    for (const key of Object.keys(object)) inner(key, object[key] as JsonValue);
  }

  #expand(start: SchemaNode): readonly JsonObject[] {
    let parts = this.#expansions.get(start);
    if (parts === undefined) this.#expansions.set(start, (parts = expand(this.#root, start)));
    return parts;
  }

  #keysOf(start: SchemaNode): ReadonlySet<string> | undefined {
    if (!this.#closedKeys.has(start)) {
      const parts = this.#expand(start);
      const isClosed = !parts.some(saysMore) && this.#isClosed(start, new Set());
      const keys = parts.flatMap((part) => (isRecord(part['properties']) ? Object.keys(part['properties']) : []));
      this.#closedKeys.set(start, isClosed ? new Set(keys) : undefined);
    }
    return this.#closedKeys.get(start);
  }

  #isClosed(start: SchemaNode, around: ReadonlySet<SchemaNode>): boolean {
    if (around.has(start)) return true;
    const certain = certainSchemas(this.#root, start);
    if (certain.some((part) => isRecord(part['properties']))) return true;
    const unions = certain.flatMap((part) => [part['anyOf'], part['oneOf']].filter((union) => Array.isArray(union)));
    const inside = new Set([...around, start]);
    return unions.some((branches) =>
      (branches as SchemaNode[])
        .filter((branch) => mayBeObject(certainSchemas(this.#root, branch)))
        .every((branch) => this.#isClosed(branch, inside)),
    );
  }
}

/** Whether the schema allows keys that its `properties` do not name. */
function saysMore(part: JsonObject): boolean {
  const { additionalProperties, unevaluatedProperties, patternProperties } = part;
  if (isRecord(patternProperties) && Object.keys(patternProperties).length > 0) return true;
  return [additionalProperties, unevaluatedProperties].some((others) => others !== undefined && others !== false);
}

function mayBeObject(parts: readonly JsonObject[]): boolean {
  return parts.every(({ type, enum: choices }) => {
    if (choices !== undefined) return false;
    return type === undefined || type === 'object' || (Array.isArray(type) && type.includes('object'));
  });
}

/** Whether null is one of the values that the parts of a schema allow. */
export function mayBeNull(parts: readonly JsonObject[]): boolean {
  return parts.some((part) => {
    const { type, enum: choices } = part;
    if (part['nullable'] === true || part['const'] === null || type === 'null') return true;
    if (Array.isArray(type)) return type.includes('null');
    return Array.isArray(choices) ? choices.includes(null) : isSilent(part);
  });
}

/** Whether a schema accepts values of any type. */
function isSilent(part: JsonObject): boolean {
  return ['type', 'const', 'enum', '$ref', 'anyOf', 'oneOf', 'allOf'].every((keyword) => part[keyword] === undefined);
}
