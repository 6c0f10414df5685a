import { visibleLine } from './untrusted.js';

/** A word as it can be pasted into a shell; a hidden character in it shows. */
export function shellWord(text: string): string {
  const shown = visibleLine(text);
  return /^[\w@%+=:,./-]+$/u.test(shown) ? shown : `'${shown.replaceAll("'", String.raw`'\''`)}'`;
}
