import { isRecord, type JsonObject, type JsonValue } from '../protocol/json.js';
import { copyJson } from './json-text.js';
import { certainSchemas, isSchemaNode, itemSchemas, type SchemaNode } from './schema-reference.js';

const MAX_STEPS = 100_000;

/**
 * Applies `properties.….default` to omitted members, at every level of the given value. Only schemas that certainly
 * apply count (references and `allOf`, not the branches of a union). Changes `value`, whose records must have no
 * prototype. False if that took too many steps.
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
