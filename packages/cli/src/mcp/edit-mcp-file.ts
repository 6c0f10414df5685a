import { withFileLock } from '@toolscript/core';
import { parseJson, readTextFile } from '../configuration/read-json.js';
import { writeJsonFile } from '../configuration/write-json.js';
import { readMcpFile } from './mcp-files.js';

type Servers = Readonly<Record<string, unknown>>;

/**
 * Changes the servers of a file, which is made where there is none; all else in it stays. Processes that change it at
 * once lose nothing. Throws a UsageError for a file that cannot be read or written.
 */
export async function changeServers(path: string, change: (servers: Servers) => Servers): Promise<void> {
  await withFileLock(path, async () => {
    const text = await readTextFile(path);
    const found = await readMcpFile(path);
    const whole = text === undefined ? {} : (parseJson(text, path) as Record<string, unknown>);
    const member = whole['mcpServers'] === undefined && whole['servers'] !== undefined ? 'servers' : 'mcpServers';
    await writeJsonFile(path, { ...whole, [member]: change(found?.servers ?? {}) });
  });
}
