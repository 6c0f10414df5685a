import { cancelQuestions } from '../approvals/server-form.js';
import { userFolder } from '../configuration/locations.js';
import type { Settings } from '../configuration/settings.js';
import { readMcpConfiguration } from '../mcp/mcp-files.js';
import { connectServers } from '../mcp/open-servers.js';
import { serverState } from '../mcp/server-state.js';
import { ownCommand } from '../terminal/own-command.js';
import type { Environment } from '../terminal/screen.js';
import { isUsageError } from '../usage-error.js';
import type { Check } from './checks.js';

/** The time in ms that a server has to start. The doctor reports a slower server as connecting. */
const WAIT_MS = 10_000;

/**
 * Starts the MCP servers of the user and of the workspace, and reports the state of each. Does not reject if a server
 * fails.
 */
export async function checkServers({ cwd }: Settings, environment: Environment): Promise<Check[]> {
  const notes: Check[] = [];
  const warn = (detail: string) => void notes.push({ name: 'mcp', status: 'warning', detail });
  try {
    const { servers } = await readMcpConfiguration({ user: userFolder(environment), workspace: cwd, warn });
    const opened = await connectServers(servers, cwd, {
      environment,
      waitMs: WAIT_MS,
      warn: () => {},
      ...cancelQuestions(),
    });
    const states = (opened?.status() ?? []).map((server) => ({ name: `mcp ${server.name}`, ...serverState(server) }));
    await opened?.close();
    return [...notes, ...states];
  } catch (error) {
    if (!isUsageError(error)) throw error;
    return [
      {
        name: 'mcp',
        status: 'missing',
        detail: error.message,
        fix: `Correct the setting, then run: ${ownCommand()} doctor`,
      },
    ];
  }
}
