import type { Tool } from '../protocol/tools.js';
import { childSchema, expand } from './schema-reference.js';
import type { SchemaNode } from './schema-reference.js';

/** Whether a tool's result, or the member at `path` of it, is certainly an object, or a list of objects. */
export function isObjectResult({ outputSchema }: Tool, path: readonly (string | number)[]): boolean {
  if (outputSchema === undefined) return false;
  let schema: SchemaNode | undefined = outputSchema;
  for (const name of path) schema = schema && partOf(outputSchema, schema, name);
  return schema !== undefined && isObjectSchema(outputSchema, schema);
}

function isObjectSchema(root: SchemaNode, schema: SchemaNode): boolean {
  const parts = expand(root, schema);
  if (parts.some((part) => part['anyOf'] !== undefined || part['oneOf'] !== undefined || part['nullable'] === true))
    return false;
  if (parts.some((part) => part['type'] === 'object')) return true;
  if (!parts.some((part) => part['type'] === 'array')) return false;
  const items = partOf(root, schema, 0);
  return items !== undefined && isObjectSchema(root, items);
}

/** The schema of one member or item; undefined if there is none, or if it is defined in more than one place. */
function partOf(root: SchemaNode, schema: SchemaNode, name: string | number): SchemaNode | undefined {
  const found = expand(root, schema).flatMap((part) => childSchema(part, name) ?? []);
  return found.length === 1 ? (found[0] as SchemaNode) : undefined;
}
