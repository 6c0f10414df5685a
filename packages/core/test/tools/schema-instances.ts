import { Ajv2020 } from 'ajv/dist/2020.js';

/** Numbers from 0 to 1 that are the same for the same seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d_2b_79_f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export type Random = () => number;
export type Schema = Record<string, unknown>;

const isRecord = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const pick = <T>(list: readonly T[], random: Random): T => list[Math.floor(random() * list.length)] as T;

/** Values, most of which fit; a caller that needs a valid one calls `fits`. */
export class Instances {
  readonly #root: Schema;
  readonly #random: Random;

  constructor(root: Schema, random: Random) {
    this.#root = root;
    this.#random = random;
  }

  of(schema: unknown = this.#root, depth = 0): unknown {
    if (!isRecord(schema)) return 'any';
    if (typeof schema['$ref'] === 'string') return this.of(targetOf(this.#root, schema['$ref']), depth + 1);
    if ('const' in schema) return schema['const'];
    if (Array.isArray(schema['enum'])) return pick(schema['enum'], this.#random);
    const union = (schema['anyOf'] ?? schema['oneOf']) as unknown[] | undefined;
    if (union !== undefined) {
      const { anyOf: _anyOf, oneOf: _oneOf, ...rest } = schema;
      const branch = this.of(pick(union, this.#random), depth + 1);
      return isRecord(rest['properties']) && isRecord(branch)
        ? { ...(this.of(rest, depth) as Schema), ...branch }
        : branch;
    }
    if (Array.isArray(schema['allOf'])) {
      const { allOf, ...rest } = schema;
      return Object.assign({}, ...[rest, ...(allOf as unknown[])].map((part) => this.of(part, depth + 1))) as unknown;
    }
    const type = Array.isArray(schema['type']) ? pick(schema['type'], this.#random) : schema['type'];
    return this.#plain(type ?? (schema['properties'] === undefined ? undefined : 'object'), schema, depth);
  }

  #plain(type: unknown, schema: Schema, depth: number): unknown {
    switch (type) {
      case 'string':
        return this.#text(schema);
      case 'integer':
      case 'number':
        return this.#number(type, schema);
      case 'boolean':
        return this.#random() < 0.5;
      case 'null':
        return null;
      case 'array': {
        const least = Number(schema['minItems'] ?? 0);
        const most = Math.min(Number(schema['maxItems'] ?? least + 2), least + 2);
        const length = depth > 6 ? least : least + Math.floor(this.#random() * (most - least + 1));
        return Array.from({ length }, () => this.of(schema['items'] ?? {}, depth + 1));
      }
      case 'object':
        return this.#object(schema, depth);
      default:
        return pick<unknown>(['any', 5, true], this.#random);
    }
  }

  #text({ format, minLength, maxLength, pattern }: Schema): string {
    const known: Record<string, string> = {
      'date-time': '2024-05-01T10:00:00Z',
      date: '2024-05-01',
      email: 'a@b.example',
      uri: 'https://a.example/',
    };
    if (typeof format === 'string' && known[format] !== undefined) return known[format];
    if (typeof pattern === 'string') {
      const tries = [
        'a',
        '1',
        'abc',
        '12',
        '2024-05-01',
        'A1',
        '#1',
        'a/b',
        '10:00',
        '550e8400-e29b-41d4-a716-446655440000',
      ];
      return tries.find((text) => new RegExp(pattern, 'u').test(text)) ?? 'a';
    }
    const text = pick(['Oslo', 'a "quoted" text', 'two\nlines', 'déjà', '${x}', 'x'], this.#random);
    return text.padEnd(Number(minLength ?? 0), '.').slice(0, Number(maxLength ?? 100));
  }

  #number(type: string, { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf }: Schema): number {
    const from = Number(
      minimum ?? (typeof exclusiveMinimum === 'number' ? exclusiveMinimum + 1 : (maximum as number) - 10 || 0),
    );
    const until = Number(maximum ?? (typeof exclusiveMaximum === 'number' ? exclusiveMaximum - 1 : from + 10));
    const value = Math.floor(from + this.#random() * (until - from + 1));
    if (typeof multipleOf === 'number') return Math.ceil(from / multipleOf) * multipleOf;
    return type === 'number' && this.#random() < 0.3 && value + 0.5 <= until ? value + 0.5 : value;
  }

  #object(schema: Schema, depth: number): Schema {
    const properties = isRecord(schema['properties']) ? schema['properties'] : {};
    const required = Array.isArray(schema['required']) ? (schema['required'] as string[]) : [];
    const keys = Object.keys(properties).filter((key) => required.includes(key) || (depth < 6 && this.#random() < 0.5));
    const object = Object.fromEntries(keys.map((key) => [key, this.of(properties[key], depth + 1)]));
    const others = schema['additionalProperties'];
    if (isRecord(others) && this.#random() < 0.5) object['more'] = this.of(others, depth + 1);
    if (others === true && this.#random() < 0.5) object['more'] = 5;
    if (others === undefined && schema['properties'] === undefined && this.#random() < 0.5) object['free'] = 'x';
    return object;
  }
}

/** One change to a value that probably makes it wrong; undefined if nothing can be changed. */
export function spoiled(
  value: unknown,
  random: Random,
): { readonly value: unknown; readonly kind: string } | undefined {
  const copy = structuredClone(value);
  const places: { holder: Record<string | number, unknown>; key: string | number }[] = [];
  const gather = (at: unknown): void => {
    if (typeof at !== 'object' || at === null) return;
    for (const key of Array.isArray(at) ? at.keys() : Object.keys(at)) {
      places.push({ holder: at as Record<string, unknown>, key });
      gather((at as Record<string, unknown>)[key]);
    }
  };
  gather(copy);
  const place = places.length === 0 ? undefined : pick(places, random);
  const kind = place === undefined ? 'key' : pick(['kind', 'choice', 'range', 'missing', 'key'], random);
  if (kind === 'key') {
    const objects = [copy, ...places.map(({ holder, key }) => holder[key])].filter(isRecord);
    if (objects.length === 0) return undefined;
    pick(objects, random)['unheard_of'] = 1;
    return { value: copy, kind };
  }
  const { holder, key } = place!;
  const before = holder[key];
  if (kind === 'missing' && !Array.isArray(holder)) delete holder[key];
  else if (kind === 'choice' && typeof before === 'string') holder[key] = `${before} nowhere`;
  else if (kind === 'range' && typeof before === 'number') holder[key] = before + 1e9;
  else if (kind === 'kind')
    holder[key] = typeof before === 'string' ? 12.5 : typeof before === 'object' ? 'text' : { odd: [] };
  else return undefined;
  return { value: copy, kind };
}

/** Ajv's verdict on arguments, for a schema as tools read it: closed if it names properties. */
export function oracle(schema: Schema): (value: unknown) => boolean {
  const ajv = new Ajv2020({ strict: false, useDefaults: true, validateFormats: false, logger: false });
  const { $schema: _dialect, ...root } = schema;
  const closed = closedWhereNamed(withoutUnfit(root, root)) as Schema;
  const validate = ajv.compile({ type: 'object', ...closed });
  return (value) => validate(structuredClone(value));
}

/** The schema without defaults that their own schemas reject. */
function withoutUnfit(node: unknown, root: Schema): unknown {
  if (Array.isArray(node)) return node.map((part) => withoutUnfit(part, root));
  if (!isRecord(node)) return node;
  const copy = Object.fromEntries(
    Object.entries(node).map(([key, value]) => [
      key,
      key === 'default' || key === 'enum' || key === 'const' ? value : withoutUnfit(value, root),
    ]),
  );
  if (!('default' in copy) || (isRecord(copy['default']) && 'type' in copy['default'])) return copy;
  const { $defs, definitions } = root;
  const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false });
  if (
    !ajv.validate(
      { ...copy, ...($defs === undefined ? {} : { $defs }), ...(definitions === undefined ? {} : { definitions }) },
      copy['default'],
    )
  )
    delete copy['default'];
  return copy;
}

function closedWhereNamed(node: unknown, isPart = false): unknown {
  if (Array.isArray(node)) return node.map((part) => closedWhereNamed(part, isPart));
  if (!isRecord(node)) return node;
  const isNamed = isRecord(node['properties']);
  const copy = Object.fromEntries(
    Object.entries(node).map(([key, value]) => {
      if (key === 'properties' || key === '$defs' || key === 'definitions')
        return [
          key,
          Object.fromEntries(Object.entries(value as Schema).map(([name, member]) => [name, closedWhereNamed(member)])),
        ];
      if (key === 'allOf') return [key, closedWhereNamed(value, true)];
      if (key === 'anyOf' || key === 'oneOf') return [key, closedWhereNamed(value, isNamed || isPart)];
      if (key === 'items' || key === 'additionalProperties' || key === 'prefixItems')
        return [key, closedWhereNamed(value)];
      return [key, value];
    }),
  );
  const isOpen = copy['additionalProperties'] !== undefined || isPart;
  if (isNamed && !isOpen && copy['allOf'] === undefined) copy['additionalProperties'] = false;
  if (copy['allOf'] !== undefined && !isOpen) copy['unevaluatedProperties'] = false;
  return copy;
}

function targetOf(root: Schema, reference: string): unknown {
  return reference
    .slice(2)
    .split('/')
    .reduce<unknown>((at, key) => (isRecord(at) ? at[key] : undefined), root);
}
