/** One word for a POSIX shell, with nothing in it that the shell would read. */
function word(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/**
 * The line that gives a shell this environment, beside what it has (a proxy's address), and then becomes the program.
 * Arguments cross it as they are.
 */
export function execLine(argv: readonly string[], environment: Readonly<Record<string, string>>): string {
  const variables = Object.entries(environment).map(([name, value]) => `${name}=${word(value)}`);
  const set = variables.length === 0 ? '' : `export ${variables.join(' ')}; `;
  const unset = 'PATH' in environment ? '' : 'unset PATH; ';
  return `${set}${unset}exec ${argv.map(word).join(' ')}`;
}
