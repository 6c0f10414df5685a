import { plainLines } from '../connection/readable.js';

/** Members whose values are data, not schemas. */
export const SCHEMA_DATA: ReadonlySet<string> = new Set(['const', 'default', 'enum', 'examples', 'required']);
/** Members that map names to schemas. */
export const SCHEMA_MAPS: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
]);
const TEXTS: ReadonlySet<string> = new Set(['description', 'title']);
const MAX_TEXT_LENGTH = 4_000;

/**
 * A copy of a schema for models: without comments, and with descriptions and titles of bounded length that contain no
 * invisible characters except line breaks and tabs.
 */
export function readableSchema(schema: object): object {
  return readable(schema) as object;
}

function readable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(readable);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, member]): [string, unknown][] => {
      if (key === '$comment') return [];
      if (typeof member === 'string' && TEXTS.has(key)) return [[key, plainLines(member, MAX_TEXT_LENGTH)]];
      if (SCHEMA_MAPS.has(key)) return [[key, readableMap(member)]];
      return [[key, SCHEMA_DATA.has(key) ? member : readable(member)]];
    }),
  );
}

function readableMap(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return readable(value);
  return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, readable(schema)]));
}
