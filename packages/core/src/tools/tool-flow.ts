import { ToolscriptUsageError } from '../protocol/errors.js';
import type { JsonObject } from '../protocol/json.js';
import type { ToolFlow } from '../protocol/provenance.js';
import { didYouMean } from '../text/nearest-names.js';

const MEMBERS = ['trusted', 'readersOf', 'readBy', 'control'];
/** Maximum number of references that a path follows. */
const MAX_REFERENCES = 16;

/** Checks the guarded paths of a tool. Throws a `ToolscriptUsageError` for a path that the input schema does not have. */
export function readFlow(flow: ToolFlow | undefined, tool: string, schema: JsonObject): ToolFlow | undefined {
  if (flow === undefined) return undefined;
  if (typeof flow !== 'object' || flow === null || Array.isArray(flow))
    throw invalid(tool, 'flow', 'an object such as { trusted: ["to"] }');
  for (const member of Object.keys(flow)) {
    if (!MEMBERS.includes(member))
      throw new ToolscriptUsageError('UNKNOWN_MEMBER', {
        where: `"flow" of ${lower(tool)}`,
        member,
        advice: didYouMean(member, MEMBERS) || ` It takes ${MEMBERS.join(', ')}.`,
      });
  }
  const { trusted = [], readersOf, readBy, control = false } = flow;
  if (typeof control !== 'boolean') throw invalid(tool, 'flow.control', 'true or false');
  if (!Array.isArray(trusted)) throw invalid(tool, 'flow.trusted', 'a list of paths of arguments');
  if ((readersOf === undefined) !== (readBy === undefined))
    throw invalid(tool, 'flow', 'an object with both readersOf and readBy, or with neither');
  const named: [string, unknown][] = [
    ...trusted.map((path): [string, unknown] => ['flow.trusted', path]),
    ...(readersOf === undefined
      ? []
      : ([
          ['flow.readersOf', readersOf],
          ['flow.readBy', readBy],
        ] as [string, unknown][])),
  ];
  for (const [member, path] of named) {
    if (typeof path !== 'string' || !hasPath(schema, path.split('.'), schema))
      throw invalid(tool, member, `paths of its input schema, which has no ${JSON.stringify(path)}`);
  }
  return Object.freeze({ ...flow, trusted: Object.freeze([...trusted]) });
}

function invalid(tool: string, member: string, expected: string): ToolscriptUsageError {
  return new ToolscriptUsageError('TOOL_MEMBER_INVALID', { member: `"${member}" of ${lower(tool)}`, expected });
}

function lower(text: string): string {
  return text.replace(/^The/, 'the');
}

/** Whether a value that fits the schema can have the path. Lists on the way are passed through. */
function hasPath(schema: unknown, keys: readonly string[], root: JsonObject, references = 0): boolean {
  const [key, ...rest] = keys;
  if (key === undefined) return true;
  if (schema === true) return true;
  if (typeof schema !== 'object' || schema === null) return false;
  const {
    properties,
    items,
    prefixItems,
    additionalProperties,
    $ref: reference,
    type,
    ...other
  } = schema as JsonObject;
  const inner = (part: unknown, path = keys) => hasPath(part, path, root, references + 1);
  if (references > MAX_REFERENCES) return false;
  if (typeof reference === 'string') return inner(referenced(root, reference));
  const choices = ['anyOf', 'oneOf', 'allOf'].flatMap((name) =>
    Array.isArray(other[name]) ? (other[name] as unknown[]) : [],
  );
  if (choices.some((part) => inner(part))) return true;
  if (items !== undefined && inner(items)) return true;
  if (Array.isArray(prefixItems) && prefixItems.some((part) => inner(part))) return true;
  if (isObject(properties) && Object.hasOwn(properties, key)) return inner(properties[key], rest);
  if (isObject(additionalProperties) || additionalProperties === true) return inner(additionalProperties, rest);
  const isOpen =
    properties === undefined && additionalProperties !== false && (type === undefined || type === 'object');
  return isOpen && choices.length === 0 && items === undefined;
}

function referenced(root: JsonObject, reference: string): unknown {
  let at: unknown = reference === '#' || reference.startsWith('#/') ? root : undefined;
  for (const part of reference.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    at = isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined;
  }
  return at;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
