import { isRecord, type JsonObject } from '../protocol/json.js';

/** A JSON Schema, or the boolean that stands for "everything" or "nothing". */
export type SchemaNode = JsonObject | boolean;

export function isSchemaNode(value: unknown): value is SchemaNode {
  return typeof value === 'boolean' || isRecord(value);
}

/** A reference within its own document: `#`, `#/…` or `#anchor`. All other references are external. */
export function isLocalReference(reference: unknown): reference is string {
  // defence: references-stay-inside, without it: return typeof reference === 'string';
  return typeof reference === 'string' && reference.startsWith('#');
}

/** The target of a local reference; undefined if it does not exist or is not a schema. Never reads another document. */
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
 * The keys that a value at `path` may have by the schema, for messages. Follows local references and all branches of
 * unions. `expansions`: from earlier queries about the same root.
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

/** The schema of one member or item; its references and branches are not followed. */
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

/** The schemas of the first items of a list, and of the others, including the spelling of older drafts. */
export function itemSchemas(schema: JsonObject): { readonly prefix: readonly unknown[]; readonly rest: unknown } {
  const { items, prefixItems } = schema;
  if (Array.isArray(items)) return { prefix: items, rest: schema['additionalItems'] };
  return { prefix: Array.isArray(prefixItems) ? prefixItems : [], rest: items };
}

/** A schema, its references and the parts of its `allOf`: the schemas that apply for every branch of a union. */
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

/** A schema and every schema that applies to the same value: its references and branches. */
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
