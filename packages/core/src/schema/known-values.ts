import type { KnownArgument, KnownVerdict } from '../protocol/script.js';
import type { Tool, ValidationIssue } from '../protocol/tools.js';
import { isUnknownKey } from '../text/unknown-key.js';
import { formatPath, leadsThrough } from '../text/value-path.js';
import { possibleInside } from './object-keys.js';
import { schemaTree } from './read-schema.js';
import { innerSchema, possibleSchemas, type Schema, type SchemaNode } from './tree.js';

/**
 * Returns the issues that the tool's own validator finds in an argument with unknown parts, without issues that depend
 * on these parts.
 */
export function judgeKnown(tool: Tool, known: KnownArgument): KnownVerdict {
  const verdict = tool.validateInput(known.value);
  if (verdict.ok) return { issues: [], absent: verdict.absent?.filter((path) => !known.unknown.includes(path)) ?? [] };
  const isWhole = known.unknown.length + known.open.length === 0;
  return {
    issues: isWhole ? verdict.issues : verdict.issues.filter((issue) => isCertain(issue, tool, known)),
    absent: [],
  };
}

function isCertain(issue: ValidationIssue, tool: Tool, known: KnownArgument): boolean {
  const { path, expected, received } = issue;
  // An unknown key is invalid with every value except undefined.
  const isKey = isUnknownKey(issue);
  const isGivenKey = isKey && known.given.includes(path);
  const touches = (place: string) => leadsThrough(path, place) || leadsThrough(place, path);
  if (known.unknown.some((place) => touches(place) && !(isGivenKey && place === path))) return false;
  // A tool's own checks may depend on any part.
  if (expected === undefined && !isKey) return false;
  const isMissing = received === 'undefined';
  if (isMissing && known.open.some((place) => leadsThrough(path, place))) return false;
  return !isDecidedAsAWhole(path, tool, known);
}

/**
 * Whether an object or list that contains `path` and has unknown parts decides, as a whole, which values `path` may
 * have.
 */
function isDecidedAsAWhole(path: string, { inputSchema }: Tool, { value, unknown, open }: KnownArgument): boolean {
  let schemas = possibleSchemas(schemaTree(inputSchema).root);
  let at = formatPath([]);
  let inner = value;
  while ([...unknown, ...open].some((place) => leadsThrough(place, at))) {
    if (schemas.some(decidesAsAWhole)) return true;
    const key = valueKeys(inner).find((candidate) => leadsThrough(path, formatPath([candidate], at)));
    if (key === undefined) return false;
    at = formatPath([key], at);
    inner = (inner as Record<string | number, unknown>)[key];
    schemas = possibleInside(schemas, key);
  }
  return false;
}

/** Whether one part of a value decides which values another part may have. */
function decidesAsAWhole(schema: Schema): boolean {
  return (schema.anyOf ?? schema.oneOf ?? schema.if ?? schema.not ?? schema.dependentSchemas) !== undefined;
}

function valueKeys(value: unknown): (string | number)[] {
  if (Array.isArray(value)) return [...value.keys()];
  return typeof value === 'object' && value !== null ? Object.keys(value) : [];
}

/** Whether a tool's result, or the member at `path` of the result, is certainly an object, or a list of objects. */
export function isObjectResult({ outputSchema }: Tool, path: readonly (string | number)[]): boolean {
  let schema: SchemaNode | undefined = outputSchema && schemaTree(outputSchema).root;
  for (const key of path) schema = schema && onlyInner(schema, key);
  return schema !== undefined && isObjectSchema(schema, new Set());
}

/** `lists`: the schemas of the lists around the value, which a list of itself would lead to again. */
function isObjectSchema(schema: SchemaNode, lists: ReadonlySet<SchemaNode>): boolean {
  if (lists.has(schema)) return false;
  const parts = possibleSchemas(schema);
  if (parts.some(({ anyOf, oneOf, nullable }) => nullable || (anyOf ?? oneOf) !== undefined)) return false;
  // With several types, the value may also have another one.
  const types = parts.map((part) => part.types?.length === 1 && part.types[0]);
  if (types.includes('object')) return true;
  const items = types.includes('array') ? onlyInner(schema, 0) : undefined;
  return items !== undefined && isObjectSchema(items, new Set([...lists, schema]));
}

/** Returns the schema of one member or item; undefined if there is no such schema, or more than one. */
function onlyInner(schema: SchemaNode, key: string | number): SchemaNode | undefined {
  const inner = possibleSchemas(schema).flatMap((part) => innerSchema(part, key) ?? []);
  return inner.length === 1 ? inner[0] : undefined;
}
