/*
 * A number rounds integers beyond 2^53, such as the ids of many services. A script has them as the text of their digits,
 * in results and in arguments. An argument of the type `integer` is declared as a number or a text; the text becomes a
 * mark on its way to the server, and the digits of the integer in the JSON that is sent.
 */
import { randomUUID } from 'node:crypto';
import { isRecord } from '@toolscript/core/internal';

/** Unknown to scripts, so that no text of theirs is taken for an integer. */
const MARK = `integer-${randomUUID()}:`;
const MARKED_VALUE = new RegExp(String.raw`"${MARK}(-?\d+)"`, 'gu');

const LONG_INTEGER = /^-?[1-9][0-9]{15,}$/u;
const AS_TEXT = { type: 'string', pattern: LONG_INTEGER.source };
const SHORT_FORMAT = /^u?int(?:8|16|32)$/u;
/** With one of these, a schema that accepts more can make a valid value invalid. */
const EXCLUSIVE = /"(?:oneOf|not|if)":/u;
const MAX_HOPS = 20;

type Schema = Readonly<Record<string, unknown>>;

/** The schema in which each integer may also be the text of an integer that a number may round. */
export function acceptingLongIntegers(schema: object): object {
  return widened(schema, !EXCLUSIVE.test(JSON.stringify(schema))) as object;
}

/** The arguments with a mark for each text that `acceptingLongIntegers` permits in place of an integer. */
export function markLongIntegers(schema: object, input: Record<string, unknown>): Record<string, unknown> {
  return marked(schema, input, schema) as Record<string, unknown>;
}

/** JSON text with the integers in place of their marks. */
export function withLongIntegers(json: string): string {
  return json.includes(MARK) ? json.replaceAll(MARKED_VALUE, '$1') : json;
}

/** A text, such as a part of an address, with the digits in place of their mark. */
export function withoutMark(text: string): string {
  return text.replaceAll(MARK, '');
}

/** The same schema if it has no such integer. `isOpen`: whether parts that several schemas share may accept more. */
function widened(schema: unknown, isOpen: boolean): unknown {
  if (!isRecord(schema)) return schema;
  if (isLongInteger(schema)) {
    const { title, description, default: preset, ...rest } = schema;
    const texts = Object.entries({ title, description, default: preset }).filter(([, value]) => value !== undefined);
    return { ...Object.fromEntries(texts), anyOf: [rest, AS_TEXT] };
  }
  const changes = Object.entries(schema).flatMap(([key, value]): [string, unknown][] => {
    const part = widenedPart(key, value, isOpen);
    return part === value ? [] : [[key, part]];
  });
  return changes.length === 0 ? schema : { ...schema, ...Object.fromEntries(changes) };
}

function widenedPart(key: string, value: unknown, isOpen: boolean): unknown {
  if (key === 'properties' || key === 'patternProperties') return widenedMap(value, isOpen);
  if (key === '$defs' || key === 'definitions') return isOpen ? widenedMap(value, isOpen) : value;
  if (key === 'items' || key === 'additionalProperties') return widened(value, isOpen);
  if (!['anyOf', 'allOf', 'prefixItems'].includes(key) || !Array.isArray(value)) return value;
  const parts = (value as unknown[]).map((part) => widened(part, isOpen));
  return parts.every((part, index) => part === value[index]) ? value : parts;
}

function widenedMap(value: unknown, isOpen: boolean): unknown {
  if (!isRecord(value)) return value;
  const parts = Object.entries(value).map(([name, part]): [string, unknown] => [name, widened(part, isOpen)]);
  return parts.every(([name, part]) => part === value[name]) ? value : Object.fromEntries(parts);
}

const schemaTypes = ({ type }: Schema): unknown[] => [type].flat();

function isLongInteger(schema: Schema): boolean {
  const { enum: values, const: value, maximum, exclusiveMaximum, format } = schema;
  const types = schemaTypes(schema);
  return (
    types.includes('integer') &&
    !types.includes('string') &&
    values === undefined &&
    value === undefined &&
    ![maximum, exclusiveMaximum].some((limit) => typeof limit === 'number' && limit <= Number.MAX_SAFE_INTEGER) &&
    !(typeof format === 'string' && SHORT_FORMAT.test(format))
  );
}

function marked(given: unknown, value: unknown, root: object): unknown {
  const schema = resolved(given, root);
  if (schema === undefined) return value;
  if (typeof value === 'string') return LONG_INTEGER.test(value) && isInteger(schema, root) ? `${MARK}${value}` : value;
  if (typeof value !== 'object' || value === null) return value;
  const whole = markedMembers(schema, value, root);
  return branchesFor(schema, value, root).reduce((all: unknown, branch) => marked(branch, all, root), whole);
}

function markedMembers(schema: Schema, value: object, root: object): object {
  const { properties, additionalProperties, items, prefixItems } = schema;
  if (Array.isArray(value)) {
    const first = Array.isArray(prefixItems) ? (prefixItems as unknown[]) : [];
    return value.map((part, index) => marked(first[index] ?? items, part, root));
  }
  const schemas = isRecord(properties) ? properties : {};
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => {
      const own = Object.hasOwn(schemas, name) ? schemas[name] : additionalProperties;
      return [name, marked(own, part, root)];
    }),
  );
}

/** The branches that say what the members of a value are. Among several alternatives, none does for certain. */
function branchesFor(schema: Schema, value: object, root: object): unknown[] {
  const all = branches(schema, 'allOf');
  const kind = Array.isArray(value) ? 'array' : 'object';
  const alternatives = [...branches(schema, 'anyOf'), ...branches(schema, 'oneOf')].filter((branch) =>
    schemaTypes(resolved(branch, root) ?? {}).some((type) => type === kind || type === undefined),
  );
  return alternatives.length === 1 ? [...all, ...alternatives] : all;
}

/** Whether a text in this place stands for an integer: no alternative accepts it as a text. */
function isInteger(schema: Schema, root: object): boolean {
  if (isLongInteger(schema)) return true;
  const parts = ['anyOf', 'oneOf', 'allOf'].flatMap((key) => branches(schema, key));
  const known = parts.map((part) => resolved(part, root) ?? {});
  return known.some(isLongInteger) && !known.some((part) => schemaTypes(part).includes('string'));
}

function branches(schema: Schema, key: string): unknown[] {
  const value = schema[key];
  return Array.isArray(value) ? (value as unknown[]) : [];
}

/** The schema that a reference within the root leads to. */
function resolved(given: unknown, root: object): Schema | undefined {
  let schema = given;
  for (let hops = 0; hops < MAX_HOPS && isRecord(schema); hops++) {
    const reference = schema['$ref'];
    if (typeof reference !== 'string') return schema;
    schema = reference
      .replace(/^#\/?/u, '')
      .split('/')
      .filter((part) => part !== '')
      .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
      .reduce(
        (found: unknown, part) => (isRecord(found) && Object.hasOwn(found, part) ? found[part] : undefined),
        root,
      );
  }
  return undefined;
}
