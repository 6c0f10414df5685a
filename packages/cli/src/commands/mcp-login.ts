import type { McpServers } from '@toolscript/mcp';
import { dataFolder } from '../configuration/locations.js';
import { EXIT } from '../exit-status.js';
import { mcpPlace } from '../mcp/current-workspace.js';
import { LoginCallback } from '../mcp/login-callback.js';
import { readMcpConfiguration } from '../mcp/mcp-files.js';
import { noServer } from '../mcp/no-server.js';
import { prepareServers, type PreparedServers } from '../mcp/open-servers.js';
import { toolCount } from '../mcp/server-state.js';
import { openScreen, type Screen } from '../terminal/screen.js';
import { visibleLine } from '../terminal/untrusted.js';
import { UsageError } from '../usage-error.js';

export interface LoginFlags {
  cwd?: string | undefined;
  config?: string | undefined;
}

/** Logs in to a remote server with the user's browser, and stores the tokens. */
export async function logIn(name: string, flags: LoginFlags): Promise<number> {
  const screen = openScreen();
  const place = await mcpPlace(flags, screen);
  const { servers } = await readMcpConfiguration(place);
  if (!Object.hasOwn(servers, name)) throw noServer(name, Object.keys(servers));
  const prepared = await prepareServers({ [name]: servers[name]! }, process.env, place.workspace);
  const callback = new LoginCallback();
  await callback.listen();
  try {
    const opened = await connect(prepared, callback, screen);
    try {
      await finish(opened, name, callback, screen);
    } finally {
      await opened.close();
    }
  } finally {
    callback.close();
  }
  return EXIT.completed;
}

async function connect(
  { entries, safeguards }: PreparedServers,
  callback: LoginCallback,
  screen: Screen,
): Promise<McpServers> {
  const { connectMcpServers, oauthFile } = await import('@toolscript/mcp');
  const showPage = (_server: string, page: URL) => {
    callback.isAwaited = true;
    screen.line(`Log in at this page in your browser:\n\n  ${visibleLine(page.href)}\n`);
  };
  const path = dataFolder(process.env).mcpLoginsFile;
  // An earlier registration may contain the redirect address of an earlier login.
  const authProvider = oauthFile({ path, redirectUrl: callback.url, onRedirect: showPage, startsOver: true });
  return connectMcpServers({ mcpServers: entries }, { ...safeguards, authProvider });
}

async function finish(opened: McpServers, name: string, callback: LoginCallback, screen: Screen): Promise<void> {
  const [before] = opened.status();
  if (before?.state === 'connected') return screen.line(`${visibleLine(name)} is connected, and needs no login.`);
  if (!callback.isAwaited)
    throw new UsageError(
      visibleLine(before?.problem ?? `${name} is not connected. Check its entry in mcp.json, and the network.`),
    );
  await opened.finishLogin(name, await callback.address());
  const [after] = opened.status();
  if (after?.state !== 'connected')
    throw new UsageError(
      visibleLine(
        after?.problem ??
          `${name} did not accept the login. Repeat the command, and log in with an account that has access.`,
      ),
    );
  screen.line(`Logged in to ${visibleLine(name)}: ${toolCount(after)}.`);
}
