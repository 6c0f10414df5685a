import type { JsonValue } from '../protocol/json.js';

/** A schema. `false` accepts no value; a schema without keywords accepts every value. */
export type SchemaNode = Schema | false;

/**
 * One level of a JSON Schema: a value fits if it fits every keyword. Members have the names of the keywords of 2020-12,
 * also where the schema was written in an older draft. A member is undefined if the schema does not have the keyword.
 */
export class Schema {
  /** The place of the schema in its document, for notes. */
  readonly path: readonly string[];
  /** True for `{}` and `true`. */
  isEmpty = false;

  description: string | undefined;
  format: string | undefined;
  /** Whether a text is bytes in base64. */
  isBase64 = false;
  default: JsonValue | undefined;
  deprecated = false;
  /** Null is accepted besides the values of `types` and `choices`. */
  nullable = false;

  reference: SchemaReference | undefined;
  types: readonly string[] | undefined;
  constant: { readonly value: JsonValue } | undefined;
  choices: readonly JsonValue[] | undefined;
  allOf: readonly SchemaNode[] | undefined;
  anyOf: readonly SchemaNode[] | undefined;
  oneOf: readonly SchemaNode[] | undefined;
  not: SchemaNode | undefined;
  if: SchemaNode | undefined;
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  then: SchemaNode | undefined;
  else: SchemaNode | undefined;
  /** The lower and upper bounds of numbers and sizes. */
  bounds: readonly SchemaBound[] | undefined;
  multipleOf: number | undefined;
  pattern: SchemaPattern | undefined;

  properties: ReadonlyMap<string, SchemaNode> | undefined;
  required: readonly string[] = [];
  patternProperties: readonly PatternProperty[] | undefined;
  additionalProperties: SchemaNode | undefined;
  unevaluatedProperties: SchemaNode | undefined;
  propertyNames: SchemaNode | undefined;
  /** Also the `dependencies` and `dependentRequired` of a schema. */
  dependentSchemas: ReadonlyMap<string, SchemaNode> | undefined;

  prefixItems: readonly SchemaNode[] | undefined;
  /** The schema of the items after `prefixItems`. */
  items: SchemaNode | undefined;
  unevaluatedItems: SchemaNode | undefined;
  contains: SchemaNode | undefined;
  minContains: number | undefined;
  maxContains: number | undefined;
  uniqueItems = false;

  constructor(path: readonly string[]) {
    this.path = path;
  }
}

export interface SchemaReference {
  /** The text of the reference. */
  readonly name: string;
  /** Undefined if nothing is there. */
  target: SchemaNode | undefined;
}

/** Each bound: the kind of the values that it applies to, the side that it limits, and the unit in messages. */
export const BOUNDS = {
  minimum: ['number', 'at least', ''],
  maximum: ['number', 'at most', ''],
  exclusiveMinimum: ['number', 'greater than', ''],
  exclusiveMaximum: ['number', 'less than', ''],
  minLength: ['string', 'at least', 'characters'],
  maxLength: ['string', 'at most', 'characters'],
  minItems: ['array', 'at least', 'items'],
  maxItems: ['array', 'at most', 'items'],
  minProperties: ['object', 'at least', 'keys'],
  maxProperties: ['object', 'at most', 'keys'],
} as const;

export interface SchemaBound {
  readonly keyword: keyof typeof BOUNDS;
  readonly limit: number;
}

/** Longer keys fit no schema with `patternProperties`. */
export const MAX_PATTERN_KEY_LENGTH = 300;

/** A regular expression that takes a bounded time for texts of at most `maxLength` characters. */
export interface SchemaPattern {
  readonly source: string;
  readonly expression: RegExp;
  readonly maxLength: number;
}

export interface PatternProperty {
  /** Undefined if the pattern could take too long. */
  readonly pattern: RegExp | undefined;
  readonly schema: SchemaNode;
}

/** Returns the schema of one member or item. The references and branches of the schema are not followed. */
export function innerSchema(schema: Schema, key: string | number): SchemaNode | undefined {
  if (typeof key === 'string') return schema.properties?.get(key) ?? schema.additionalProperties;
  return schema.prefixItems?.[key] ?? schema.items;
}

/** Returns a schema, its references and the parts of its `allOf`: what applies in every branch of a union. */
export function certainSchemas(start: SchemaNode, onStep: () => void = () => {}): readonly Schema[] {
  if (start === false) return [];
  if (start.reference === undefined && start.allOf === undefined) return [start];
  return reachable(start, Infinity, (schema) => [schema.reference?.target, ...(schema.allOf ?? [])], onStep);
}

const MAX_POSSIBLE = 200;
const possible = new WeakMap<Schema, readonly Schema[]>();

/**
 * Returns a schema and the schemas that may apply to the same value: its references, branches, conditional and
 * dependent schemas, up to `MAX_POSSIBLE`.
 */
export function possibleSchemas(start: SchemaNode): readonly Schema[] {
  if (start === false) return [];
  let schemas = possible.get(start);
  if (schemas === undefined) possible.set(start, (schemas = reachable(start, MAX_POSSIBLE, sameValueSchemas)));
  return schemas;
}

function sameValueSchemas(schema: Schema): (SchemaNode | undefined)[] {
  const { reference, allOf = [], anyOf = [], oneOf = [], dependentSchemas = new Map<never, never>() } = schema;
  return [reference?.target, ...allOf, ...anyOf, ...oneOf, schema.then, schema.else, ...dependentSchemas.values()];
}

function reachable(
  start: Schema,
  max: number,
  next: (schema: Schema) => readonly (SchemaNode | undefined)[],
  onStep: () => void = () => {},
): Schema[] {
  const schemas = new Set<Schema>();
  const waiting: (SchemaNode | undefined)[] = [start];
  while (waiting.length > 0 && schemas.size < max) {
    const schema = waiting.pop();
    onStep();
    if (schema === undefined || schema === false || schemas.has(schema)) continue;
    schemas.add(schema);
    waiting.push(...next(schema));
  }
  return [...schemas];
}
