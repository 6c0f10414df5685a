/** The way from a value to one inside of it: names of members and indexes. */
export type ValuePath = readonly (string | number)[];

const IDENTIFIER = /^[A-Za-z_$][A-Za-z0-9_$]*$/;
const MAX_KEY_LENGTH = 60;

/** `args.items[2].city`, as a script would write the place. */
export function formatPath(path: ValuePath, root = 'args'): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    return IDENTIFIER.test(part) ? `${text}.${part}` : `${text}[${quoteKey(part)}]`;
  }, root);
}

/** Whether a formatted path leads to the other one, or through it. */
export function leadsThrough(path: string, inner: string): boolean {
  return path.startsWith(inner) && (path.length === inner.length || '.['.includes(path.charAt(inner.length)));
}

function quoteKey(key: string): string {
  return JSON.stringify(key.length > MAX_KEY_LENGTH ? `${key.slice(0, MAX_KEY_LENGTH)}…` : key);
}
