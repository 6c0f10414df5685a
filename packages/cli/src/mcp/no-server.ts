import { didYouMean } from '../nearest-name.js';
import { visibleLine } from '../terminal/untrusted.js';
import { UsageError } from '../usage-error.js';

/** The error for an unknown server. `path` is the file without the server; undefined if no file contains the server. */
export function noServer(name: string, known: readonly string[], path?: string): UsageError {
  const where = path === undefined ? '' : ` in ${visibleLine(path)}`;
  return new UsageError(
    `There is no MCP server ${visibleLine(name)}${where}.${didYouMean(name, known) || ' To list the servers: toolscript mcp list'}`,
  );
}
