import { createHash } from 'node:crypto';

const keys = new WeakMap<readonly string[], string>();

/** Identifies the names of tools. Each list is hashed once, because all scripts of a harness share one. */
export function toolsKey(names: readonly string[]): string {
  let key = keys.get(names);
  if (key === undefined) {
    key = createHash('sha256').update(names.join('\n')).digest('base64');
    keys.set(names, key);
  }
  return key;
}
