/** Quotes one word for a POSIX shell. */
function word(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/**
 * A shell line that executes the program with unchanged arguments. The program gets the shell's own variables, such as
 * a proxy's address, and those of `environment`. It gets PATH only from `environment`.
 */
export function execLine(argv: readonly string[], environment: Readonly<Record<string, string>>): string {
  const variables = Object.entries(environment).map(([name, value]) => `${name}=${word(value)}`);
  const set = variables.length === 0 ? '' : `export ${variables.join(' ')}; `;
  const unset = 'PATH' in environment ? '' : 'unset PATH; ';
  return `${set}${unset}exec ${argv.map(word).join(' ')}`;
}
