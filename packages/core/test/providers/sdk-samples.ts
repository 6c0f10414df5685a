/** The part of a JSON Schema that the types of an SDK become. */
interface Schema {
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

/**
 * Values of a schema: a first one, and one more for each alternative of each union and enum in it. All members are
 * there. Texts are named after their member, so that the ids of a pair agree.
 */
export function samplesOf(schema: object, member = 'value'): unknown[] {
  const { const: only, enum: values, anyOf, type, properties = {}, items = {} } = schema as Schema;
  if (only !== undefined) return [only];
  if (values !== undefined) return [...values];
  if (anyOf !== undefined) return anyOf.flatMap((one) => samplesOf(one, member));
  if (Array.isArray(type)) return type.flatMap((one: string) => samplesOf({ ...schema, type: one }, member));
  switch (type) {
    case 'object':
      return objects(properties);
    case 'array':
      return samplesOf(items, member).map((value) => [value]);
    case 'string':
      return [TEXTS[member] ?? `${member}_1`];
    case 'number':
      return [0];
    case 'boolean':
      return [true, false];
    case 'null':
      return [null];
    default:
      return [{}];
  }
}

/** The alternatives of a union, by their `type`. */
export function samplesByType(schema: object): Map<string, Record<string, unknown>[]> {
  const byType = new Map<string, Record<string, unknown>[]>();
  for (const sample of samplesOf(schema) as Record<string, unknown>[]) {
    const type = String(sample.type);
    byType.set(type, [...(byType.get(type) ?? []), sample]);
  }
  return byType;
}

const TEXTS: Readonly<Record<string, string>> = { arguments: '{"a":1}', partial_json: '{"a":1}' };

function objects(properties: Readonly<Record<string, Schema>>): Record<string, unknown>[] {
  const members = Object.entries(properties).map(([name, schema]) => [name, samplesOf(schema, name)] as const);
  const first = Object.fromEntries(members.map(([name, [value]]) => [name, value]));
  return [first, ...members.flatMap(([name, [, ...others]]) => others.map((value) => ({ ...first, [name]: value })))];
}
