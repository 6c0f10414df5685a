import { isRecord, type JsonObject } from '../protocol/json.js';
import { certainSchemas, isSchemaNode } from './schema-reference.js';

/** The effective schema of arguments, with a sentence for each default that does not apply. */
export interface EffectiveSchema {
  readonly schema: JsonObject;
  readonly notes: readonly string[];
}

/**
 * The common source of a tool's declaration, its check and its validation. A default that its own schema rejects is
 * removed, because applying it would make every call invalid. A member with a default may be omitted, whatever
 * `required` says. `fits`: whether a schema of the root accepts a value.
 */
export function effectiveSchema(
  root: JsonObject,
  fits: (schema: JsonObject, value: unknown) => boolean,
): EffectiveSchema {
  const notes: string[] = [];
  const rewritten = rewriteSchemas(root, [], (schema, path) => {
    if (schema['default'] === undefined || fits(schema, schema['default'])) return schema;
    notes.push(
      `#/${path.join('/')} has a default that its own schema rejects, so it is not applied; change one of them.`,
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

/** Keywords that hold one schema or a list of them, and keywords that hold schemas by name. */
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

/** A copy in which `rewrite` replaces every schema, the inner ones first. External references are not followed. */
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
