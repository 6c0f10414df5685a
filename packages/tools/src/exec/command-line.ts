import { visible } from '../files/path-rules.js';

/**
 * An argument vector on one line, as a shell would read it: it shows where each argument begins and ends, and no
 * invisible character stays invisible (`$'…'` with escapes). For people and for rules, never for execution.
 */
export function quoteCommand(command: readonly string[]): string {
  return command.map(quoteArgument).join(' ');
}

function quoteArgument(argument: string): string {
  if (/^[A-Za-z0-9_@%+=:,./-]+$/.test(argument)) return argument;
  if (visible(argument) !== argument) return `$'${visible(argument.replaceAll('\\', '\\\\')).replaceAll("'", "\\'")}'`;
  return `'${argument.replaceAll("'", "'\\''")}'`;
}
