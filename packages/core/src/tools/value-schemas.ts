import { isRecord, type JsonObject, type JsonValue } from '../protocol/json.js';
import type { ValuePath } from '../text/value-path.js';
import { certainSchemas, childSchema, expand, type Expansions, type SchemaNode } from './schema-reference.js';

/** An object inside a value, with the schemas that describe it. */
export interface DescribedObject {
  readonly object: Record<string, JsonValue>;
  readonly path: ValuePath;
  /** The schemas that refer to this place. */
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

  /** Visits the objects of a value, the outer ones first. `onStep` is called for each visited schema. */
  visit(value: JsonValue, visit: (described: DescribedObject) => void, onStep: () => void = () => {}): void {
    this.#visit(value, [this.#root], [], visit, onStep);
  }

  /**
   * The keys that the object may have; undefined if it may have any. An object is closed by its `properties`, unless
   * the schema allows other keys, or one of its alternatives takes any object.
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

/** A schema that takes any value. */
function isSilent(part: JsonObject): boolean {
  return ['type', 'const', 'enum', '$ref', 'anyOf', 'oneOf', 'allOf'].every((keyword) => part[keyword] === undefined);
}
