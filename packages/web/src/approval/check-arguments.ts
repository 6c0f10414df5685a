import { Validator } from '@cfworker/json-schema';

/** The problems of a JSON text, one sentence each; none if the text is valid and matches the schema. */
export function argumentProblems(text: string, schema: Readonly<Record<string, unknown>> | undefined): string[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return [`This is not valid JSON: ${(error as Error).message}`];
  }
  if (schema === undefined) return [];
  const { errors } = new Validator(schema, '2020-12', false).validate(value);
  const deepest = errors.filter((error) => !errors.some((other) => isBeyond(other, error)));
  return deepest.map(({ instanceLocation, keyword, error }) => {
    const path = instanceLocation.replace(/^#\/?/u, '').replaceAll('/', '.');
    return problemText(path, keyword, error);
  });
}

/** The words for the types of JSON Schema. */
const TYPES: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  null: 'null',
};

/** A problem in words, such as `path must be text` or `path is missing`. */
function problemText(path: string, keyword: string, error: string): string {
  const name = path === '' ? 'The value' : path;
  const [, quoted = ''] = /"([^"]*)"\.$/u.exec(error) ?? [];
  if (keyword === 'false') return `${name}: The tool has no such argument. Remove it.`;
  if (keyword === 'type' && TYPES[quoted] !== undefined) return `${name} must be ${TYPES[quoted]}`;
  if (keyword === 'required') return `${path === '' ? quoted : `${path}.${quoted}`} is missing`;
  return path === '' ? error : `${path}: ${error}`;
}

type Problem = ReturnType<Validator['validate']>['errors'][number];

/** Whether the first problem makes the second one redundant: it is deeper in the value, or more specific. */
function isBeyond(first: Problem, second: Problem): boolean {
  if (first.instanceLocation.startsWith(`${second.instanceLocation}/`)) return second.keyword !== 'required';
  return first !== second && first.instanceLocation === second.instanceLocation && second.keyword === 'false';
}
