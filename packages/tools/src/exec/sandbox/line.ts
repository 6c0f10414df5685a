/** Where bubblewrap reads the filter for system calls, and further options. */
export const FILTER_DESCRIPTOR = 3;
const OPTIONS_DESCRIPTOR = 4;

/**
 * The line with a place for more options, after all the package's own, so that they hold over them. They come on a
 * descriptor, because a line's length is limited. Throws where the line has not the form that is known of the package.
 */
export function withMoreOptions(line: string): string {
  const words = [...line.matchAll(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g)];
  const end = words.findIndex(([text]) => text === '--');
  const [before, last] = [words[end - 2]?.[0], words[end - 1]?.[0]];
  // defence: only-known-lines
  if (before !== '--proc' || last !== '/proc') throw new Error('the command for bubblewrap has an unknown form');
  const at = words[end]!.index;
  return `${line.slice(0, at)}--args ${OPTIONS_DESCRIPTOR} ${line.slice(at)}`;
}

/** What is to be read there. */
export function optionBytes(options: readonly string[]): Buffer {
  return Buffer.from(options.map((option) => `${option}\0`).join(''));
}
