import { isIP } from 'node:net';
import type { AuthOptions } from '@toolscript/server';
import { isActive, isLoopback, KnownOrigins, type ApiKeyStore } from '@toolscript/server/access';
import { visibleLine } from '../terminal/untrusted.js';
import type { Screen } from '../terminal/screen.js';
import { throughStore } from '../threads/thread-database.js';
import { UsageError } from '../usage-error.js';

export interface AccessFlags {
  /** The address to listen on. Default: an address that only this machine can reach. */
  host?: string | undefined;
  /** Additional host names of the server. */
  allowHost?: readonly string[] | undefined;
  /** Origins of pages that may call the server. */
  allowOrigin?: readonly string[] | undefined;
  /** Addresses of the proxies in front of the server. */
  trustedProxy?: readonly string[] | undefined;
}

/**
 * The access rules of the server. Throws a UsageError if other machines could reach the server and there is no API key,
 * or if a flag is invalid.
 */
export async function serverAccess(flags: AccessFlags, keys: ApiKeyStore, token: string): Promise<AuthOptions> {
  const { host, allowHost = [], allowOrigin = [], trustedProxy = [] } = flags;
  const hosts = [...(host === undefined || isIP(host) !== 0 ? [] : [host]), ...allowHost];
  checkNames(hosts, allowOrigin, trustedProxy);
  if (!isLocalHost(host)) await demandKey(keys, host!);
  return { token, keys, hosts, origins: allowOrigin, trustedProxies: trustedProxy };
}

function checkNames(hosts: readonly string[], origins: readonly string[], proxies: readonly string[]): void {
  try {
    void new KnownOrigins({ hosts, origins });
  } catch (error) {
    throw new UsageError(visibleLine(`${(error as Error).message}.`));
  }
  const wrong = proxies.find((proxy) => isIP(proxy) === 0);
  if (wrong !== undefined)
    throw new UsageError(`--trusted-proxy ${visibleLine(wrong)} is not an IP address. Use the address of the proxy.`);
}

/** Whether only this machine can reach a server that listens on this host. */
export function isLocalHost(host: string | undefined): boolean {
  return host === undefined || host === 'localhost' || isLoopback(host);
}

/**
 * Whether a server at this address may print its token. Output that is not a terminal is often a log, and the log of a
 * server for other machines has other readers.
 */
export function mayPrintToken({ isTerminal }: Pick<Screen, 'isTerminal'>, address: string): boolean {
  // defence: token-stays-out-of-logs
  const isShown = isTerminal || isLocalHost(address);
  return isShown;
}

async function demandKey(keys: ApiKeyStore, host: string): Promise<void> {
  const all = await throughStore(keys.list());
  // defence: other-machines-need-a-key
  if (!all.some((key) => isActive(key)))
    throw new UsageError(
      `Other machines can reach a server at ${visibleLine(host)}, and there is no API key for them. Create one first: toolscript keys add NAME`,
    );
}
