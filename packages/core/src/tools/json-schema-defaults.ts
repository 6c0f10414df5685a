import { isRecord, type JsonObject, type JsonValue } from '../protocol/json.js';
import { copyJson } from './json-text.js';
import { certainSchemas, isSchemaNode, itemSchemas, type SchemaNode } from './schema-lookup.js';

/** The effective schema of arguments, with a sentence for each default that does not apply. */
interface EffectiveSchema {
  readonly schema: JsonObject;
  readonly notes: readonly string[];
}

/**
 * Returns the schema that a tool's declaration, check and validation share. A default that its own schema rejects is
 * removed, because this default would make every call without the member invalid. A member with a default may be
 * omitted, even if `required` contains the member. `fits` returns whether a schema of the root accepts a value.
 */
export function effectiveSchema(
  root: JsonObject,
  fits: (schema: JsonObject, value: unknown) => boolean,
): EffectiveSchema {
  const notes: string[] = [];
  const rewritten = rewriteSchemas(root, [], (schema, path) => {
    if (schema['default'] === undefined || fits(schema, schema['default'])) return schema;
    notes.push(
      `#/${path.join('/')} has a default that its own schema rejects, so it is not applied; change the default or the schema.`,
    );
    const { default: _default, ...rest } = schema;
    return rest;
  }) as JsonObject;
  return {
    schema: rewriteSchemas(rewritten, [], (schema) => withoutDefaulted(rewritten, schema)) as JsonObject,
    notes,
  };
}

function withoutDefaulted(root: JsonObject, schema: JsonObject): JsonObject {
  const { properties, required } = schema;
  if (!Array.isArray(required) || !isRecord(properties)) return schema;
  const needed = required.filter((key) => typeof key !== 'string' || !hasDefault(root, properties, key));
  return needed.length === required.length ? schema : { ...schema, required: needed };
}

function hasDefault(root: JsonObject, properties: Record<string, unknown>, key: string): boolean {
  if (!Object.hasOwn(properties, key)) return false;
  const member = properties[key];
  return isSchemaNode(member) && certainSchemas(root, member).some((part) => part['default'] !== undefined);
}

/** The keywords that hold one schema or a list of schemas, and the keywords that hold schemas by name. */
const SCHEMAS = new Set([
  'items',
  'prefixItems',
  'additionalItems',
  'additionalProperties',
  'unevaluatedItems',
  'unevaluatedProperties',
  'contains',
  'propertyNames',
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'if',
  'then',
  'else',
]);
const SCHEMA_MAPS = new Set(['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions']);

/**
 * Returns a copy in which `rewrite` replaces every schema, inner schemas first. References are not followed.
 */
function rewriteSchemas(
  node: unknown,
  path: readonly string[],
  rewrite: (schema: JsonObject, path: readonly string[]) => JsonObject,
): unknown {
  if (Array.isArray(node)) return node.map((part, index) => rewriteSchemas(part, [...path, String(index)], rewrite));
  if (!isRecord(node)) return node;
  const copy = mapMembers(node, (key, value) => {
    if (SCHEMAS.has(key)) return rewriteSchemas(value, [...path, key], rewrite);
    if (!SCHEMA_MAPS.has(key) || !isRecord(value)) return value;
    return mapMembers(value, (name, schema) => rewriteSchemas(schema, [...path, key, name], rewrite));
  });
  return rewrite(copy as JsonObject, path);
}

function mapMembers(
  record: Record<string, unknown>,
  map: (key: string, value: unknown) => unknown,
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(key, value)]));
}

const MAX_STEPS = 100_000;

/**
 * Applies `properties.….default` to omitted members, at every level of the given value. Only schemas that certainly
 * apply count (references and `allOf`, not the branches of a union). Changes `value`, whose records must have no
 * prototype. Returns false if the work took too many steps.
 */
export function applyDefaults(root: JsonObject, value: JsonValue): boolean {
  const state = { root, steps: 0 };
  applyAt(state, root, value);
  return state.steps <= MAX_STEPS;
}

interface DefaultsState {
  readonly root: JsonObject;
  steps: number;
}

function applyAt(state: DefaultsState, schema: SchemaNode, value: JsonValue): void {
  if (typeof value !== 'object' || value === null) return;
  for (const certain of certainSchemas(state.root, schema, () => (state.steps += 1))) {
    if (state.steps > MAX_STEPS) return;
    if (Array.isArray(value)) applyToItems(state, certain, value);
    else applyToMembers(state, certain, value as Record<string, JsonValue>);
  }
}

function applyToMembers(state: DefaultsState, schema: JsonObject, value: Record<string, JsonValue>): void {
  const properties = isRecord(schema['properties']) ? schema['properties'] : {};
  for (const key of Object.keys(properties)) {
    state.steps += 1;
    const member = properties[key];
    if (!isSchemaNode(member)) continue;
    if (Object.hasOwn(value, key)) applyAt(state, member, value[key] as JsonValue);
    else applyDefault(state, member, value, key);
  }
  const others = schema['additionalProperties'];
  if (!isRecord(others)) return;
  for (const key of Object.keys(value)) {
    state.steps += 1;
    if (!Object.hasOwn(properties, key)) applyAt(state, others as JsonObject, value[key] as JsonValue);
  }
}

function applyDefault(state: DefaultsState, schema: SchemaNode, value: Record<string, JsonValue>, key: string): void {
  const carrier = certainSchemas(state.root, schema, () => (state.steps += 1)).find(
    (certain) => certain['default'] !== undefined,
  );
  if (carrier !== undefined) value[key] = copyJson(carrier['default']);
}

function applyToItems(state: DefaultsState, schema: JsonObject, value: readonly JsonValue[]): void {
  const { prefix, rest } = itemSchemas(schema);
  for (const [index, item] of value.entries()) {
    state.steps += 1;
    const itemSchema: unknown = index < prefix.length ? prefix[index] : rest;
    if (isRecord(itemSchema)) applyAt(state, itemSchema as JsonObject, item);
  }
}
