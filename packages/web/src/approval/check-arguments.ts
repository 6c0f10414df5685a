import { Validator } from '@cfworker/json-schema';

/** The problems of a JSON text, one sentence each; none if it is valid and fits the schema. */
export function argumentProblems(text: string, schema: Readonly<Record<string, unknown>> | undefined): string[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return [`This is no JSON: ${(error as Error).message}`];
  }
  if (schema === undefined) return [];
  const { errors } = new Validator(schema, '2020-12', false).validate(value);
  const deepest = errors.filter(
    ({ instanceLocation, keyword }) =>
      !['properties', 'items', 'anyOf', 'allOf'].includes(keyword) ||
      !errors.some((other) => other.instanceLocation.startsWith(`${instanceLocation}/`)),
  );
  return deepest.map(({ instanceLocation, error }) => {
    const path = instanceLocation.replace(/^#\/?/u, '').replaceAll('/', '.');
    return path === '' ? error : `${path}: ${error}`;
  });
}
