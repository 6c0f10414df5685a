/** Quotes one word for a POSIX shell. */
function word(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/**
 * A line that adds this environment to the shell's own, such as a proxy's address, and then becomes the program. The
 * program gets the arguments unchanged.
 */
export function execLine(argv: readonly string[], environment: Readonly<Record<string, string>>): string {
  const variables = Object.entries(environment).map(([name, value]) => `${name}=${word(value)}`);
  const set = variables.length === 0 ? '' : `export ${variables.join(' ')}; `;
  const unset = 'PATH' in environment ? '' : 'unset PATH; ';
  return `${set}${unset}exec ${argv.map(word).join(' ')}`;
}
