import { isRecord } from '@toolscript/core/internal-data';
import type { DocumentSchemas } from './schemas.js';

/** How arguments become the body of a request. */
export interface BodyPlan {
  readonly mediaType: string;
  readonly form: 'json' | 'urlencoded' | 'multipart' | 'text' | 'binary';
  /** True: the argument `body` is the body. False: the arguments that are no parameters are the members of the body. */
  readonly isWhole: boolean;
  /** The arguments of the body, with their schemas. */
  readonly properties: readonly (readonly [name: string, schema: unknown])[];
  readonly required: readonly string[];
  readonly additionalProperties: unknown;
  /** The members with bytes, which are base64 in the arguments. */
  readonly binary: ReadonlySet<string>;
}

type Json = Readonly<Record<string, unknown>>;

/** The forms of bodies, in the order in which they are chosen if an operation accepts several. */
const FORMS: readonly (readonly [BodyPlan['form'], RegExp])[] = [
  ['json', /^application\/(?:[\w.-]+\+)?json\b/iu],
  ['urlencoded', /^application\/x-www-form-urlencoded\b/iu],
  ['multipart', /^multipart\/form-data\b/iu],
  ['text', /^(?:text\/|application\/(?:[\w.-]+\+)?xml\b)/iu],
  ['binary', /./u],
];

/** The body of an operation; undefined if it has none. */
export function bodyPlan(given: unknown, schemas: DocumentSchemas, problems: Set<string>): BodyPlan | undefined {
  if (given === undefined || given === null) return undefined;
  const { content, required } = schemas.resolve(given) ?? {};
  const types = isRecord(content) ? Object.keys(content) : [];
  if (types.length === 0) problems.add('its body cannot be read');
  const [form, mediaType] = chosenForm(types);
  const schema = bodySchema(form, isRecord(content) ? content[mediaType] : undefined);
  const members = form === 'text' || form === 'binary' ? undefined : objectMembers(schema, schemas);
  const isRequired = required === true;
  const shared = { mediaType: mediaType.includes('*') ? FALLBACK[form] : mediaType, form };
  if (members === undefined)
    return {
      ...shared,
      isWhole: true,
      properties: [['body', schema]],
      required: isRequired ? ['body'] : [],
      additionalProperties: false,
      binary: new Set(form === 'binary' ? ['body'] : []),
    };
  const properties = [...members.properties].map(([name, member]): [string, unknown] => [name, textOfBytes(member)]);
  return {
    ...shared,
    isWhole: false,
    properties,
    required: isRequired ? [...members.required].filter((name) => members.properties.has(name)) : [],
    additionalProperties: members.additionalProperties,
    binary: new Set([...members.properties].flatMap(([name, member]) => (isBytes(member) ? [name] : []))),
  };
}

const FALLBACK: Readonly<Record<BodyPlan['form'], string>> = {
  json: 'application/json',
  urlencoded: 'application/x-www-form-urlencoded',
  multipart: 'multipart/form-data',
  text: 'text/plain',
  binary: 'application/octet-stream',
};

function chosenForm(types: readonly string[]): [BodyPlan['form'], string] {
  for (const [form, pattern] of FORMS) {
    const type = types.find((one) => one !== '*/*' && pattern.test(one));
    if (type !== undefined) return [form, type];
  }
  return ['json', types[0] ?? FALLBACK.json];
}

function bodySchema(form: BodyPlan['form'], media: unknown): unknown {
  if (form === 'binary') return BASE64;
  if (form === 'text') return { type: 'string' };
  return isRecord(media) && isRecord(media['schema']) ? media['schema'] : {};
}

const BASE64 = { type: 'string', contentEncoding: 'base64', description: 'base64' };

function textOfBytes(schema: unknown): unknown {
  return isBytes(schema) ? { ...BASE64 } : schema;
}

function isBytes(schema: unknown): boolean {
  if (!isRecord(schema)) return false;
  return (
    schema['format'] === 'binary' ||
    (schema['contentMediaType'] !== undefined && schema['contentEncoding'] === undefined)
  );
}

interface ObjectMembers {
  readonly properties: ReadonlyMap<string, unknown>;
  readonly required: ReadonlySet<string>;
  readonly additionalProperties: unknown;
}

const MAX_PARTS = 100;

/** The members of an object schema, also of one that consists of several; undefined for every other schema. */
function objectMembers(schema: unknown, schemas: DocumentSchemas): ObjectMembers | undefined {
  const parts = objectParts(schema, schemas);
  if (parts === undefined) return undefined;
  const properties = new Map<string, unknown>();
  for (const { properties: some } of parts)
    for (const [name, member] of Object.entries(isRecord(some) ? some : {}))
      if (schemas.resolve(member)?.['readOnly'] !== true) properties.set(name, member);
  if (properties.size === 0) return undefined;
  const required = parts.flatMap(({ required: names }) => (Array.isArray(names) ? (names as unknown[]) : []));
  const open = parts.map((part) => part['additionalProperties']).find((more) => more === true || isRecord(more));
  return {
    properties,
    required: new Set(required.filter((name) => typeof name === 'string')),
    additionalProperties: open ?? false,
  };
}

/** The object schemas that a schema consists of. */
function objectParts(schema: unknown, schemas: DocumentSchemas): readonly Json[] | undefined {
  const parts: Json[] = [];
  const open: unknown[] = [schema];
  for (const one of open) {
    const part = schemas.resolve(one);
    if (part === undefined || parts.length === MAX_PARTS) return undefined;
    const { type = 'object', allOf, anyOf, oneOf, not } = part;
    if (type !== 'object' || anyOf !== undefined || oneOf !== undefined || not !== undefined) return undefined;
    parts.push(part);
    if (Array.isArray(allOf)) open.push(...(allOf as unknown[]));
  }
  return parts;
}
