import type { KnownArgument, KnownVerdict } from '../protocol/script.js';
import type { Tool, ValidationIssue } from '../protocol/tools.js';
import { isUnknownKey } from '../text/unknown-key.js';
import { formatPath, leadsThrough } from '../text/value-path.js';
import { childSchema, expand, type SchemaNode } from './schema-lookup.js';

/** Keywords that judge a value as a whole: one part of the value decides which values another part may have. */
const DECIDED_AS_A_WHOLE = ['anyOf', 'oneOf', 'if', 'not', 'dependentSchemas', 'dependentRequired', 'dependencies'];

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
  let schemas = expand(inputSchema, inputSchema);
  let at = formatPath([]);
  let inner = value;
  while ([...unknown, ...open].some((place) => leadsThrough(place, at))) {
    if (schemas.some((schema) => DECIDED_AS_A_WHOLE.some((keyword) => schema[keyword] !== undefined))) return true;
    const key = keysOf(inner).find((candidate) => leadsThrough(path, formatPath([candidate], at)));
    if (key === undefined) return false;
    at = formatPath([key], at);
    inner = (inner as Record<string | number, unknown>)[key];
    schemas = schemas.flatMap((schema) => {
      const child = childSchema(schema, key);
      return child === undefined ? [] : expand(inputSchema, child);
    });
  }
  return false;
}

function keysOf(value: unknown): (string | number)[] {
  if (Array.isArray(value)) return [...value.keys()];
  return typeof value === 'object' && value !== null ? Object.keys(value) : [];
}

/** Whether a tool's result, or the member at `path` of the result, is certainly an object, or a list of objects. */
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

/** Returns the schema of one member or item; undefined if there is no such schema, or more than one. */
function partOf(root: SchemaNode, schema: SchemaNode, name: string | number): SchemaNode | undefined {
  const found = expand(root, schema).flatMap((part) => childSchema(part, name) ?? []);
  return found.length === 1 ? (found[0] as SchemaNode) : undefined;
}
