/** The path from a value to a nested value: member names and indexes. */
export type ValuePath = readonly (string | number)[];

const IDENTIFIER = /^[A-Za-z_$][A-Za-z0-9_$]*$/;
const MAX_KEY_LENGTH = 60;
const MAX_IDENTIFIER_LENGTH = 128;

/** Formats a path as a script writes it: `args.items[2].city`. */
export function formatPath(path: ValuePath, root = 'args'): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    return part.length <= MAX_IDENTIFIER_LENGTH && IDENTIFIER.test(part)
      ? `${text}.${part}`
      : `${text}[${quoteKey(part)}]`;
  }, root);
}

/** Whether the formatted path equals `inner`, or leads to a value inside of the value at `inner`. */
export function leadsThrough(path: string, inner: string): boolean {
  return path.startsWith(inner) && (path.length === inner.length || '.['.includes(path.charAt(inner.length)));
}

function quoteKey(key: string): string {
  return JSON.stringify(key.length > MAX_KEY_LENGTH ? `${key.slice(0, MAX_KEY_LENGTH)}…` : key);
}
