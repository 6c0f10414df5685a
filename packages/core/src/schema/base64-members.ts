import type { JsonObject } from '../protocol/json.js';
import type { SandboxCall } from '../protocol/sandbox.js';
import { schemaTree } from './read-schema.js';
import { possibleInside } from './object-keys.js';
import { possibleSchemas, type Schema } from './tree.js';

/**
 * The problem of arguments that contain bytes: the first member that a schema does not take as base64 text. Undefined if
 * the schema takes all of them. Without a schema, none is taken.
 */
export function bytesProblem(
  schema: JsonObject | undefined,
  members: NonNullable<SandboxCall['argsBytes']>,
): string | undefined {
  return members.find(({ keys }) => schema === undefined || !takesBase64(schema, keys))?.problem;
}

function takesBase64(schema: JsonObject, keys: readonly string[]): boolean {
  const root = possibleSchemas(schemaTree(schema).root);
  return keys.reduce(insideAny, root).some(({ isBase64 }) => isBase64);
}

/** The schemas inside of objects and lists. */
function insideAny(schemas: readonly Schema[], key: string): readonly Schema[] {
  const ofObjects = possibleInside(schemas, key);
  return /^\d+$/u.test(key) ? [...ofObjects, ...possibleInside(schemas, Number(key))] : ofObjects;
}
