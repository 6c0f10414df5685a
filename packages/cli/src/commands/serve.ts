import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { present } from '@toolscript/core/internal';
import type { ServerRole } from '@toolscript/server';
import { EXIT } from '../exit-status.js';
import { openScreen } from '../terminal/screen.js';
import { visibleLine } from '../terminal/untrusted.js';
import { UsageError } from '../usage-error.js';
import { openPage } from '../serve/open-page.js';
import { listenAt } from '../serve/listen.js';
import { isLocalHost, mayPrintToken, type AccessFlags } from '../serve/server-access.js';
import type { LogFlags } from '../serve/server-log.js';

export interface ServeFlags extends AccessFlags, LogFlags {
  port?: string | undefined;
  workspace?: string | undefined;
  workers?: string | undefined;
  runsPerPrincipal?: string | undefined;
  store?: string | undefined;
  events?: string | undefined;
  role?: string | undefined;
  /** True to open the web page in the user's browser. */
  open?: boolean | undefined;
}

const DEFAULT_PORT = 4319;
const DEFAULT_HOST = '127.0.0.1';

/** Serves the web page and the API until the process receives a signal. */
export async function serve(flags: ServeFlags): Promise<number> {
  const screen = openScreen();
  const warn = screen.notice;
  const port = wholeNumber(flags.port, '--port', 65_535) ?? DEFAULT_PORT;
  const workers = wholeNumber(flags.workers, '--workers', 1000);
  const { openService } = await import('../serve/open-service.js');
  const runsPerPrincipal = wholeNumber(flags.runsPerPrincipal, '--runs-per-principal', 1000, 1);
  const { port: _port, workers: _workers, runsPerPrincipal: _runs, role, open = false, ...common } = flags;
  const service = await openService(
    { ...common, ...present({ workers, runsPerPrincipal, roles: await rolesIn(role) }) },
    warn,
  );
  const ended = endSignal();
  let closePage = () => {};
  try {
    const address = await listenAt(service.app, flags.host ?? DEFAULT_HOST, port, '--port');
    const url = pageUrl(address, service.token);
    const isShown = mayPrintToken(screen, address.address);
    screen.line(isShown ? url : url.replace(/#.*$/u, ''));
    if (!isShown) screen.line(`The token for requests from this machine is ${service.tokenPlace}.`);
    if (open) closePage = openPage(url, warn);
    for (const line of service.about) screen.line(screen.style.dim(line));
    await ended;
  } finally {
    closePage();
    await service.close();
  }
  return EXIT.completed;
}

async function rolesIn(text: string | undefined): Promise<ServerRole[] | undefined> {
  const { SERVER_ROLES } = await import('@toolscript/server');
  return text?.split(',').map((word) => {
    const role = SERVER_ROLES.find((one) => one === word.trim());
    if (role !== undefined) return role;
    throw new UsageError(
      `--role: there is no role ${visibleLine(word.trim()) || '""'}. The roles are ${SERVER_ROLES.join(', ')}.`,
    );
  });
}

/**
 * The URL of the page. If this machine reaches the server through loopback, the URL contains the token, which is valid
 * only there.
 */
function pageUrl({ address, family, port }: AddressInfo, token: string): string {
  const isEverywhere = address === '0.0.0.0' || address === '::';
  if (isEverywhere) return `http://127.0.0.1:${port}/#token=${token}`;
  const url = `http://${family === 'IPv6' ? `[${address}]` : address}:${port}/`;
  return isLocalHost(address) ? `${url}#token=${token}` : url;
}

function endSignal(): Promise<unknown> {
  return Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
}

function wholeNumber(text: string | undefined, option: string, most: number, least = 0): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^\d+$/u.test(text) && value >= least && value <= most) return value;
  throw new UsageError(`${option} is "${visibleLine(text)}". Use a whole number from ${least} to ${most}.`);
}
