import { isRecord } from '@toolscript/core/internal-data';
import { oneLine } from '../connection/readable.js';
import type { BodyPlan } from './request-body.js';
import type { DocumentSchemas } from './schemas.js';

const PLACES = ['path', 'query', 'header', 'cookie'] as const;
type Place = (typeof PLACES)[number];

/** A parameter of an operation. */
export interface Parameter {
  /** The member of the arguments. */
  readonly argument: string;
  /** The name in the request. */
  readonly name: string;
  readonly place: Place;
  readonly schema: unknown;
  readonly isRequired: boolean;
  readonly style: string;
  /** Whether each element of a list or object is written on its own. */
  readonly explode: boolean;
  /** Whether the value is written as JSON. */
  readonly isJson: boolean;
}

/** Headers that belong to the connection or to the configuration, never to a call. */
const OWN_HEADERS =
  /^(?:host|connection|content-length|content-type|accept|accept-encoding|authorization|cookie|expect|keep-alive|te|trailer|transfer-encoding|upgrade|proxy-.*)$/iu;

/** The names that headers and cookies can have. */
const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/u;

interface ParameterContext {
  readonly path: string;
  readonly body: BodyPlan | undefined;
  readonly schemas: DocumentSchemas;
  readonly problems: Set<string>;
}

/**
 * The parameters of an operation. Those of the operation replace those of its path. A name in two places, or in the
 * body too, gets its place: `id__path`. A name in the path without a parameter is a text.
 */
export function readParameters(lists: readonly unknown[], context: ParameterContext): Parameter[] {
  const { path, body, problems } = context;
  const found = new Map<string, Omit<Parameter, 'argument'>>();
  for (const given of lists.flatMap((list) => (Array.isArray(list) ? (list as unknown[]) : []))) {
    const parameter = readParameter(given, context);
    if (parameter === undefined) problems.add('one of its parameters cannot be read');
    else if (isUsed(parameter, path)) found.set(`${parameter.place} ${parameter.name}`, parameter);
  }
  for (const [, name = ''] of path.matchAll(IN_PATH))
    if (!found.has(`path ${name}`)) found.set(`path ${name}`, { ...TEXT_IN_PATH, name });
  const all = [...found.values()];
  const inBody = new Set(body?.properties.map(([name]) => name));
  return all.map((parameter) => {
    const { name, place } = parameter;
    const isTaken = inBody.has(name) || all.some((other) => other !== parameter && other.name === name);
    return { ...parameter, argument: isTaken ? `${name}__${place}` : name };
  });
}

/** The names in a path, in braces. */
export const IN_PATH = /\{([^{}/]+)\}/gu;

const TEXT_IN_PATH = {
  place: 'path',
  schema: { type: 'string' },
  isRequired: true,
  style: 'simple',
  explode: false,
  isJson: false,
} as const;

function readParameter(given: unknown, { schemas }: ParameterContext): Omit<Parameter, 'argument'> | undefined {
  const { name, in: place, required, style, explode, content, ...more } = schemas.resolve(given) ?? {};
  if (typeof name !== 'string' || name === '' || !PLACES.includes(place as Place)) return undefined;
  if ((place === 'header' || place === 'cookie') && !TOKEN.test(name)) return undefined;
  const byDefault = place === 'query' || place === 'cookie' ? 'form' : 'simple';
  const effective = typeof style === 'string' ? style : byDefault;
  const [media] = isRecord(content) ? Object.values(content) : [];
  return {
    name,
    place: place as Place,
    schema: parameterSchema(isRecord(media) ? media['schema'] : schemas.resolve(more['schema']), more['description']),
    isRequired: required === true || place === 'path',
    style: effective,
    explode: typeof explode === 'boolean' ? explode : effective === 'form' || effective === 'deepObject',
    isJson: isRecord(media),
  };
}

function isUsed({ name, place }: Pick<Parameter, 'name' | 'place'>, path: string): boolean {
  // defence: openapi-headers-of-a-call
  if (place === 'header') return !OWN_HEADERS.test(name);
  return place !== 'path' || path.includes(`{${name}}`);
}

function parameterSchema(schema: unknown, description: unknown): unknown {
  const given = isRecord(schema) ? schema : {};
  return typeof description === 'string' && description !== ''
    ? { ...given, description: oneLine(description, 500) }
    : given;
}
