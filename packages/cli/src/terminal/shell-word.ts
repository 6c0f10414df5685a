import { visibleWord } from './untrusted.js';

/** A word that can be pasted into a shell; hidden characters are visible. */
export function shellWord(text: string): string {
  const shown = visibleWord(text);
  return /^[\w@%+=:,./-]+$/u.test(shown) ? shown : `'${shown.replaceAll("'", String.raw`'\''`)}'`;
}
