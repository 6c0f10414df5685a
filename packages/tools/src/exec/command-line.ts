import { visible } from '../files/path-rules.js';

/**
 * Formats an argument vector as one shell line that shows the start and the end of each argument, and escapes invisible
 * characters (`$'…'`). The line is for users and for rules, never for execution.
 */
export function quoteCommand(command: readonly string[]): string {
  return command.map(quoteArgument).join(' ');
}

function quoteArgument(argument: string): string {
  if (/^[A-Za-z0-9_@%+=:,./-]+$/.test(argument)) return argument;
  if (visible(argument) !== argument) return `$'${visible(argument.replaceAll('\\', '\\\\')).replaceAll("'", "\\'")}'`;
  return `'${argument.replaceAll("'", "'\\''")}'`;
}
