import type { AddressInfo } from 'node:net';
import { hasScope, KeyFolder, type Caller } from '@toolscript/server/access';
import { scriptPrincipal } from '@toolscript/service';
import type { GatewayCaller, GatewayHttp } from '@toolscript/mcp';
import type { McpRequestOptions } from '@toolscript/server';
import { dataFolder } from '../configuration/locations.js';
import { listenAt } from '../serve/listen.js';
import { isLocalHost, mayPrintToken, serverAccess, type AccessFlags } from '../serve/server-access.js';
import { serverLog, type LogFlags } from '../serve/server-log.js';
import { obtainServerToken, whereTokenIs } from '../serve/server-token.js';
import type { Screen } from '../terminal/screen.js';
import { visibleLine } from '../terminal/untrusted.js';
import { UsageError } from '../usage-error.js';
import type { OpenGateway } from './open-gateway.js';

export type HttpFlags = Pick<AccessFlags, 'allowHost' | 'allowOrigin'> & LogFlags;

const DEFAULT_HOST = '127.0.0.1';

/** Serves the gateway at `/mcp` until `ended` resolves. Each request is checked for its token, Host and Origin. */
export async function serveGateway(
  { gateway }: OpenGateway,
  { http, ...flags }: HttpFlags & { http: string },
  screen: Screen,
  ended: Promise<unknown>,
): Promise<void> {
  const { host, port } = placeIn(http);
  const { keysFolder, tokenFile } = dataFolder(process.env);
  const token = obtainServerToken(tokenFile, process.env);
  const auth = await serverAccess({ ...flags, host }, new KeyFolder(keysFolder), token);
  const { createMcpServer } = await import('@toolscript/server');
  const app = await createMcpServer({
    auth,
    mcp: gatewayEndpoint(gateway.serveHttp()),
    ...serverLog(flags, process.env),
  });
  try {
    const address = await listenAt(app, host, port, '--http');
    screen.line(gatewayUrl(address));
    for (const line of clientLines(address.address, screen, token)) screen.line(screen.style.dim(line));
    await ended;
  } finally {
    await app.close();
  }
}

/** The lines about the header that the clients of this machine, and of other machines, send. */
function clientLines(address: string, screen: Screen, token: string): string[] {
  const { tokenFile } = dataFolder(process.env);
  const own = mayPrintToken(screen, address)
    ? `Clients send: Authorization: Bearer ${token}`
    : `The token for requests from this machine is ${whereTokenIs(tokenFile, process.env)}.`;
  if (isLocalHost(address)) return [own];
  return [own, 'Clients on other machines send a key: Authorization: Bearer KEY. Create one: toolscript keys add NAME'];
}

/** The gateway as a route of the server. The scopes of a caller's key decide what the caller may do. */
export function gatewayEndpoint(gateway: GatewayHttp) {
  return {
    fetch: (request: Request, { caller, body, onSession }: McpRequestOptions) =>
      gateway.fetch(request, { caller: gatewayCaller(caller), body, onSession }),
    close: () => gateway.close(),
  };
}

function gatewayCaller(caller: Caller): GatewayCaller {
  const principal = scriptPrincipal(caller.principal);
  return {
    mayRun: hasScope(caller, 'run'),
    mayDecide: hasScope(caller, 'approve'),
    // A rule applies to all users of the workspace.
    mayRemember: hasScope(caller, 'admin'),
    ...(principal === undefined ? {} : { principal }),
  };
}

function placeIn(text: string): { host: string; port: number } {
  const { bracketed, name, port } =
    /^(?:(?:\[(?<bracketed>[^\]]+)\]|(?<name>[^:]*)):)?(?<port>\d{1,5})$/u.exec(text)?.groups ?? {};
  if (port === undefined || Number(port) > 65_535)
    throw new UsageError(`--http is "${visibleLine(text)}". Use an address and a port, such as 127.0.0.1:4320.`);
  const host = bracketed ?? name ?? '';
  return { host: host === '' ? DEFAULT_HOST : host, port: Number(port) };
}

function gatewayUrl({ address, family, port }: AddressInfo): string {
  const isEverywhere = address === '0.0.0.0' || address === '::';
  const host = isEverywhere ? '127.0.0.1' : family === 'IPv6' ? `[${address}]` : address;
  return `http://${host}:${port}/mcp`;
}
