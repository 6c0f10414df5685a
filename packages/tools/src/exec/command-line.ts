import { visible } from '../files/path-rules.js';

/**
 * Formats an argument vector as one shell line: it shows where each argument starts and ends, and escapes invisible
 * characters (`$'…'`). For users and for rules, never for execution.
 */
export function quoteCommand(command: readonly string[]): string {
  return command.map(quoteArgument).join(' ');
}

function quoteArgument(argument: string): string {
  if (/^[A-Za-z0-9_@%+=:,./-]+$/.test(argument)) return argument;
  if (visible(argument) !== argument) return `$'${visible(argument.replaceAll('\\', '\\\\')).replaceAll("'", "\\'")}'`;
  return `'${argument.replaceAll("'", "'\\''")}'`;
}
