import { withFileLock } from '@toolscript/core';
import { parseJson, readTextFile, writeJsonFile } from '../configuration/json-files.js';
import { readMcpFile } from './mcp-files.js';

type Servers = Readonly<Record<string, unknown>>;

/**
 * Changes the servers of a file, or creates it; the rest of the file stays. Concurrent changes by several processes are
 * all kept. Throws a UsageError if the file cannot be read or written.
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
