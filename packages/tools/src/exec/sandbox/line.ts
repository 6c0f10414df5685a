import { word } from '../shell-words.js';

/** Where a command reads the filter for its system calls. */
export const FILTER_DESCRIPTOR = 3;

/**
 * The line with more options for bubblewrap, after all the package's own, so that they hold over them. Throws where
 * the line has not the form that is known of the package.
 */
export function addOptions(line: string, options: readonly string[]): string {
  const words = [...line.matchAll(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g)];
  const end = words.findIndex(([text]) => text === '--');
  const [before, last] = [words[end - 2]?.[0], words[end - 1]?.[0]];
  if (before !== '--proc' || last !== '/proc') throw new Error('the command for bubblewrap has an unknown form');
  const at = words[end]!.index;
  return `${line.slice(0, at)}${options.map(word).join(' ')} ${line.slice(at)}`;
}
