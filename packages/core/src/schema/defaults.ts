import { isRecord, type JsonValue } from '../protocol/json.js';
import { copyJson } from './json-text.js';
import type { SchemaTree } from './read-schema.js';
import { certainSchemas, innerSchema, type Schema, type SchemaNode } from './tree.js';

/**
 * Makes the effective schema of arguments, which a tool's declaration, check and validation share: in the tree and in
 * its JSON, removes each default that its own schema rejects, because this default would make every call without the
 * member invalid, and no longer requires a member that has a default. `fits` returns whether a schema accepts a value.
 * Returns a sentence for each removed default.
 */
export function settleDefaults(
  { schemas }: SchemaTree,
  fits: (schema: Schema, value: JsonValue) => boolean,
): readonly string[] {
  const notes: string[] = [];
  for (const [json, schema] of schemas) {
    if (schema.default === undefined || fits(schema, schema.default)) continue;
    schema.default = undefined;
    delete (json as { default?: JsonValue | undefined }).default;
    notes.push(
      `#/${schema.path.join('/')} has a default that its own schema rejects, so it is not applied; change the default or the schema.`,
    );
  }
  for (const [json, schema] of schemas) {
    const needed = schema.required.filter((key) => !hasDefault(schema.properties?.get(key)));
    if (needed.length === schema.required.length) continue;
    schema.required = needed;
    (json as { required?: JsonValue | undefined }).required = needed;
  }
  return notes;
}

function hasDefault(schema: SchemaNode | undefined): boolean {
  return schema !== undefined && certainSchemas(schema).some((part) => part.default !== undefined);
}

const MAX_STEPS = 100_000;

/**
 * Applies `properties.….default` to omitted members, at every level of the given value. Only schemas that certainly
 * apply count (references and `allOf`, not the branches of a union). Changes `value`, whose records must have no
 * prototype. Returns false if the work took too many steps.
 */
export function applyDefaults(root: Schema, value: JsonValue): boolean {
  const work = new DefaultsWork();
  work.apply(root, value);
  return work.steps <= MAX_STEPS;
}

class DefaultsWork {
  steps = 0;
  readonly #step = (): void => {
    this.steps += 1;
  };

  apply(schema: SchemaNode, value: JsonValue): void {
    if (typeof value !== 'object' || value === null) return;
    for (const certain of certainSchemas(schema, this.#step)) {
      if (this.steps > MAX_STEPS) return;
      for (const [key, member] of Array.isArray(value) ? value.entries() : Object.entries(value)) {
        this.steps += 1;
        const inner = innerSchema(certain, key);
        if (inner !== undefined) this.apply(inner, member as JsonValue);
      }
      if (isRecord(value)) this.#add(certain, value as Record<string, JsonValue>);
    }
  }

  #add({ properties }: Schema, value: Record<string, JsonValue>): void {
    for (const [key, member] of properties ?? []) {
      this.steps += 1;
      if (Object.hasOwn(value, key)) continue;
      const carrier = certainSchemas(member, this.#step).find((certain) => certain.default !== undefined);
      if (carrier !== undefined) value[key] = copyJson(carrier.default);
    }
  }
}
