import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A tool of a public MCP server, or a function of a public catalog. */
export interface PublicTool {
  readonly server: string;
  readonly name: string;
  readonly description: string;
  readonly inputSchema: object;
}

export type PublicToolFile = 'mcp.json' | 'functions.json';

/**
 * Public tools are not part of the repository. Tests look for them in the folder that `TOOLSCRIPT_TOOL_FIXTURES` names,
 * or next to the checkout, and a note is printed if there are none.
 */
const beside = fileURLToPath(new URL('../../../../../shared/fixtures/mcp-tools', import.meta.url));
const folder = [process.env['TOOLSCRIPT_TOOL_FIXTURES'] ?? beside].find((path) => existsSync(join(path, 'mcp.json')));
if (folder === undefined) {
  console.warn(
    '\n!!! There are no public tools here: laws about them ARE NOT TESTED.\n' +
      '!!! TOOLSCRIPT_TOOL_FIXTURES names the folder that holds mcp.json and functions.json.\n',
  );
}

export const hasPublicTools = folder !== undefined;

export function publicTools(file: PublicToolFile): PublicTool[] {
  return JSON.parse(readFileSync(join(folder as string, file), 'utf8')) as PublicTool[];
}
