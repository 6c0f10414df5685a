import { pathBytes } from './system-path.js';

/** The descriptor for the system call filter. The next descriptor is for further options. */
export const FILTER_DESCRIPTOR = 3;
const OPTIONS_DESCRIPTOR = 4;

/**
 * Inserts a reference to more options after all options of the sandbox's package, so that the new options take
 * precedence. They come through a descriptor, because the length of a line is limited. Throws if the line has an
 * unknown form.
 */
export function withMoreOptions(line: string): string {
  const words = [...line.matchAll(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g)];
  const end = words.findIndex(([text]) => text === '--');
  const [before, last] = [words[end - 2]?.[0], words[end - 1]?.[0]];
  // defence: only-known-lines
  if (before !== '--proc' || last !== '/proc')
    throw new Error(
      'the installed version of @anthropic-ai/sandbox-runtime makes an unknown command for bubblewrap; install the dependencies again',
    );
  const at = words[end]!.index;
  return `${line.slice(0, at)}--args ${OPTIONS_DESCRIPTOR} ${line.slice(at)}`;
}

/** The bytes of the options for their descriptor: a NUL byte ends each option. */
export function optionBytes(options: readonly string[]): Buffer {
  return Buffer.concat(options.map((option) => pathBytes(`${option}\0`)));
}
