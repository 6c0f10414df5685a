import type { JsonValue } from '../protocol/json.js';
import type { ValuePath } from '../text/value-path.js';
import { certainSchemas, innerSchema, possibleSchemas, type Schema, type SchemaNode } from './tree.js';

/** Returns the keys that a value at `path` may have. Follows references and all branches of unions. */
export function knownKeys(root: Schema, path: ValuePath = []): string[] {
  let schemas = possibleSchemas(root);
  for (const key of path) schemas = possibleInside(schemas, key);
  return propertyNames(schemas);
}

function propertyNames(schemas: readonly Schema[]): string[] {
  return [...new Set(schemas.flatMap(({ properties }) => [...(properties?.keys() ?? [])]))];
}

/** Returns the schemas that may apply to a member or item of a value to which these schemas may apply. */
export function possibleInside(schemas: readonly Schema[], key: string | number): readonly Schema[] {
  // Branches of a recursive schema lead to the same schemas again.
  return [...new Set(innerStarts(schemas, key).flatMap(possibleSchemas))];
}

function innerStarts(schemas: readonly Schema[], key: string | number, onStep: () => void = () => {}): SchemaNode[] {
  const starts = new Set<SchemaNode>();
  for (const schema of schemas) {
    onStep();
    const inner = innerSchema(schema, key);
    if (inner !== undefined) starts.add(inner);
  }
  return [...starts];
}

/** An object inside a value, with the schemas that describe it. */
export interface DescribedObject {
  readonly object: Record<string, JsonValue>;
  readonly path: ValuePath;
  /** The schemas that describe the object, before their references and branches are followed. */
  readonly starts: readonly SchemaNode[];
  /** The schemas of `starts`, with their references and branches. */
  readonly schemas: readonly Schema[];
}

/** Visits the objects of a value, outer objects first. `onStep` is called for each step of the visit. */
export function visitObjects(
  root: Schema,
  value: JsonValue,
  visit: (described: DescribedObject) => void,
  onStep: () => void = () => {},
): void {
  const visitAt = (at: object, starts: readonly SchemaNode[], path: ValuePath): void => {
    if (starts.length === 0) return;
    const schemas = starts.length === 1 ? possibleSchemas(starts[0]!) : starts.flatMap(possibleSchemas);
    const object = at as Record<string | number, JsonValue>;
    const keys = Array.isArray(at) ? at.keys() : Object.keys(object);
    if (!Array.isArray(at)) {
      onStep();
      visit({ object, path, starts, schemas });
    }
    for (const key of keys) {
      const inner = object[key];
      if (typeof inner === 'object' && inner !== null)
        visitAt(inner, innerStarts(schemas, key, onStep), [...path, key]);
    }
  };
  if (typeof value === 'object' && value !== null) visitAt(value, [root], []);
}

/**
 * Returns the keys that an object may have; undefined if it may have any key. The `properties` of a schema close the
 * object, unless the schema allows other keys, or one of the schema's alternatives accepts any object.
 */
export function closedKeys({ starts }: DescribedObject): ReadonlySet<string> | undefined {
  const closed = starts.map(closedKeysOfOne);
  if (closed.length === 0 || closed.includes(undefined)) return undefined;
  return closed.length === 1 ? closed[0] : new Set((closed as ReadonlySet<string>[]).flatMap((keys) => [...keys]));
}

const closedKeySets = new WeakMap<Schema, ReadonlySet<string> | null>();

function closedKeysOfOne(start: SchemaNode): ReadonlySet<string> | undefined {
  if (start === false) return undefined;
  let keys = closedKeySets.get(start);
  if (keys === undefined) {
    const schemas = possibleSchemas(start);
    const isOpen = schemas.some(allowsOthers) || !isClosed(start, new Set());
    closedKeySets.set(start, (keys = isOpen ? null : new Set(propertyNames(schemas))));
  }
  return keys ?? undefined;
}

/** Whether a schema allows keys that its `properties` do not name. */
function allowsOthers({ additionalProperties, unevaluatedProperties, patternProperties = [] }: Schema): boolean {
  return patternProperties.length > 0 || Boolean(additionalProperties) || Boolean(unevaluatedProperties);
}

/** `around`: the schemas that are being asked, which decide nothing. */
function isClosed(start: SchemaNode, around: ReadonlySet<SchemaNode>): boolean {
  if (around.has(start)) return true;
  const certain = certainSchemas(start);
  if (certain.some(({ properties }) => properties !== undefined)) return true;
  const unions = certain.flatMap(({ anyOf, oneOf }) => [anyOf, oneOf].filter((union) => union !== undefined));
  const inside = new Set([...around, start]);
  return unions.some((branches) =>
    branches.filter((branch) => certainSchemas(branch).every(mayBeObject)).every((branch) => isClosed(branch, inside)),
  );
}

function mayBeObject({ types, choices }: Schema): boolean {
  return choices === undefined && (types === undefined || types.includes('object'));
}

/** Whether null is one of the values that schemas allow. */
export function mayBeNull(schemas: readonly Schema[]): boolean {
  return schemas.some(({ nullable, types, constant, choices, reference, anyOf, oneOf, allOf }) => {
    if (nullable || constant?.value === null) return true;
    if (types !== undefined) return types.includes('null');
    if (choices !== undefined) return choices.includes(null);
    return [constant, reference, anyOf, oneOf, allOf].every((part) => part === undefined);
  });
}
