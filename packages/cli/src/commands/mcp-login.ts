import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { McpServers } from '@toolscript/mcp';
import { dataFolder } from '../configuration/locations.js';
import { EXIT } from '../exit-status.js';
import { mcpPlace } from '../mcp/current-workspace.js';
import { readMcpConfiguration } from '../mcp/mcp-files.js';
import { noServer } from '../mcp/no-server.js';
import { prepareServers, type PreparedServers } from '../mcp/open-servers.js';
import { toolCount } from '../mcp/server-state.js';
import { openScreen, type Screen } from '../terminal/screen.js';
import { visibleLine } from '../terminal/untrusted.js';
import { UsageError } from '../usage-error.js';

export interface LoginFlags {
  cwd?: string;
  config?: string;
}

/** The time that the user has to log in with the browser, in ms. */
const LOGIN_MS = 5 * 60_000;

/** Logs in to a remote server with the user's browser, and stores the tokens. */
export async function logIn(name: string, flags: LoginFlags): Promise<number> {
  const screen = openScreen();
  const place = await mcpPlace(flags, screen);
  const { servers } = await readMcpConfiguration(place);
  if (!Object.hasOwn(servers, name)) throw noServer(name, Object.keys(servers));
  const prepared = await prepareServers({ [name]: servers[name]! }, process.env, place.workspace);
  const callback = new Callback();
  await callback.listen();
  try {
    const opened = await connect(name, prepared, callback, screen);
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
  name: string,
  { entries, safeguards }: PreparedServers,
  callback: Callback,
  screen: Screen,
): Promise<McpServers> {
  const { connectMcpServers, oauthFile } = await import('@toolscript/mcp');
  const showPage = (_server: string, page: URL) => {
    callback.isAwaited = true;
    screen.line(`Log in at this page in your browser:\n\n  ${visibleLine(page.href)}\n`);
  };
  const path = dataFolder(process.env).mcpLoginsFile;
  const authProvider = oauthFile({ path, redirectUrl: callback.url, onRedirect: showPage });
  // An earlier registration may contain the redirect address of an earlier login.
  await authProvider(name).invalidateCredentials?.('all');
  return connectMcpServers({ mcpServers: entries }, { ...safeguards, authProvider });
}

async function finish(opened: McpServers, name: string, callback: Callback, screen: Screen): Promise<void> {
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

/** The HTTP server at the redirect address. Only this machine can reach the server. */
class Callback {
  /** True after a login page was shown. */
  isAwaited = false;
  #arrive: (address: URL) => void = () => {};
  readonly #arrived = new Promise<URL>((resolve) => (this.#arrive = resolve));
  readonly #server = createServer((request, response) => {
    const address = new URL(request.url ?? '/', this.url);
    if (address.pathname !== '/callback') return void response.writeHead(404).end();
    response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' });
    response.end('You can close this page and go back to the terminal.\n');
    this.#arrive(address);
  });

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/callback`;
  }

  async listen(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  /**
   * The URL to which the browser was redirected. The URL contains the authorization code. Throws a UsageError if the
   * user does not log in within LOGIN_MS.
   */
  async address(): Promise<URL> {
    const address = await Promise.race([this.#arrived, sleep(LOGIN_MS, undefined, { ref: false })]);
    if (address !== undefined) return address;
    throw new UsageError('The login was not completed within 5 minutes. To try again, repeat the command.');
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}
