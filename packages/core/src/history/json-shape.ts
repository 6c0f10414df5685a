/** The part of JSON Schema that the schemas of items need. */
export interface JsonShape {
  readonly type?: 'string' | 'number' | 'boolean' | 'array' | 'object' | undefined;
  readonly const?: unknown;
  readonly enum?: readonly unknown[] | undefined;
  readonly pattern?: string | undefined;
  readonly items?: JsonShape | undefined;
  readonly properties?: Readonly<Record<string, JsonShape>> | undefined;
  readonly required?: readonly string[] | undefined;
}

/** Whether a value has the given shape. Members that the shape does not name may be anything. */
export function fitsShape(shape: JsonShape, value: unknown): boolean {
  if (shape.const !== undefined && value !== shape.const) return false;
  if (shape.enum?.includes(value) === false) return false;
  switch (shape.type) {
    case undefined:
      return true;
    case 'number':
      return Number.isFinite(value);
    case 'string':
      return typeof value === 'string' && (shape.pattern === undefined || new RegExp(shape.pattern, 'u').test(value));
    case 'boolean':
      return typeof value === 'boolean';
    case 'array':
      return Array.isArray(value) && value.every((element) => fitsShape(shape.items ?? {}, element));
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value) && fitsMembers(shape, value);
  }
}

function fitsMembers({ properties = {}, required = [] }: JsonShape, value: object): boolean {
  return Object.entries(properties).every(([name, shape]) =>
    Object.hasOwn(value, name)
      ? fitsOptional(shape, (value as Record<string, unknown>)[name], required.includes(name))
      : !required.includes(name),
  );
}

function fitsOptional(shape: JsonShape, value: unknown, isRequired: boolean): boolean {
  return (value === undefined && !isRequired) || fitsShape(shape, value);
}
