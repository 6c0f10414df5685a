import { lookup } from 'node:dns/promises';
import { BlockList, isIP, isIPv4 } from 'node:net';
import { ToolscriptUsageError } from '@toolscript/core/protocol';
import { failure, systemCode } from '../failure.js';
import { visible } from '../files/path-rules.js';
import { urlHost } from './target-url.js';

/** The addresses of a host name. Rejects if the name has no address. */
export type ResolveHost = (host: string) => Promise<readonly string[]>;

export interface GuardOptions {
  /**
   * Hosts that may have a non-public address: host names ('intranet.example'), addresses ('127.0.0.1') and ranges
   * ('10.1.0.0/16'). Default: none.
   */
  readonly allow?: readonly string[] | undefined;
  /** The resolver of host names. Default: the system's resolver. */
  readonly resolve?: ResolveHost | undefined;
}

/** Decides which addresses a request may connect to. */
export class AddressGuard {
  readonly #hosts = new Set<string>();
  readonly #ranges = new BlockList();
  readonly #resolve: ResolveHost;

  constructor({ allow = [], resolve = systemResolve }: GuardOptions = {}) {
    this.#resolve = resolve;
    for (const entry of allow) this.#allow(entry);
  }

  /**
   * Resolves the host once. The connection must use the returned addresses, and never resolve the name again. Throws a
   * ToolCallError if the guard forbids one of the addresses.
   */
  async resolveAddresses(url: URL, signal: AbortSignal): Promise<readonly string[]> {
    const host = urlHost(url);
    const addresses = isIP(host) === 0 ? await this.#resolvedAddresses(host, signal) : [host];
    // defence: every-address-is-checked
    const refused = addresses.find((address) => !this.#isAllowed(host, address));
    if (refused !== undefined) throw notPublic(host);
    return addresses;
  }

  #isAllowed(host: string, address: string): boolean {
    if (isPublicAddress(address) || this.#hosts.has(host)) return true;
    return isIP(address) !== 0 && this.#ranges.check(address, isIPv4(address) ? 'ipv4' : 'ipv6');
  }

  async #resolvedAddresses(host: string, signal: AbortSignal): Promise<readonly string[]> {
    try {
      const addresses = await untilAborted(this.#resolve(host), signal);
      if (addresses.length > 0) return addresses;
    } catch (error) {
      signal.throwIfAborted();
      throw unknownHost(host, systemCode(error));
    }
    throw unknownHost(host, undefined);
  }

  #allow(entry: string): void {
    const [address = '', prefix] = entry.split('/');
    const family = isIPv4(address) ? 'ipv4' : 'ipv6';
    try {
      if (prefix !== undefined) this.#ranges.addSubnet(address, prefixLength(prefix), family);
      else if (isIP(address) !== 0) this.#ranges.addAddress(address, family);
      else this.#hosts.add(hostName(entry));
    } catch {
      throw new ToolscriptUsageError('WEB_ALLOW_INVALID', { entry });
    }
  }
}

function prefixLength(text: string): number {
  if (!/^\d{1,3}$/u.test(text)) throw new TypeError('The prefix is not a number of bits.');
  return Number(text);
}

function hostName(entry: string): string {
  const { host, hostname } = new URL(`http://${entry}`);
  if (host !== entry.toLowerCase()) throw new TypeError('The entry has more than a host name.');
  return hostname;
}

async function systemResolve(host: string): Promise<string[]> {
  const found = await lookup(host, { all: true, order: 'ipv4first' });
  return found.map(({ address }) => address);
}

/** Rejects when the signal aborts. A lookup cannot be cancelled, so its later result is ignored. */
async function untilAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', abort, { once: true });
    void promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

function notPublic(host: string): Error {
  return failure(
    'blocked_address',
    `The host ${visible(host)} has an address that is not public, so it is not contacted. The operator can add the host to "allow" of the web tools.`,
    { host },
  );
}

function unknownHost(host: string, code: string | undefined): Error {
  return failure(
    'network',
    `The host ${visible(host)} was not found${code === undefined ? '' : ` (${code})`}. Check the URL, and the network.`,
  );
}

/*
 * The public addresses. IPv4: everything except the special-purpose ranges (RFC 6890 and its successors). IPv6: only
 * global unicast, 2000::/3, without its special-purpose ranges. So no form that contains an IPv4 address (mapped,
 * compatible, NAT64, 6to4, Teredo) is public.
 */

const SPECIAL_IPV4: readonly (readonly [address: string, prefix: number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  // The server of Azure's virtual machines, which reveals their settings.
  ['168.63.129.16', 32],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.31.196.0', 24],
  ['192.52.193.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['192.175.48.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
];

const SPECIAL_IPV6: readonly (readonly [address: string, prefix: number])[] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['2620:4f:8000::', 48],
  ['3fff::', 20],
];

const GLOBAL_IPV6: readonly (readonly [address: string, prefix: number])[] = [['2000::', 3]];

/** Whether everyone on the internet can reach an address. The address must be in its normal notation. */
export function isPublicAddress(address: string): boolean {
  const version = isIP(address);
  // A zone names a network interface of this machine.
  if (version === 0 || address.includes('%')) return false;
  if (version === 4) return !addressBlockList(SPECIAL_IPV4, 'ipv4').check(address, 'ipv4');
  return (
    addressBlockList(GLOBAL_IPV6, 'ipv6').check(address, 'ipv6') &&
    !addressBlockList(SPECIAL_IPV6, 'ipv6').check(address, 'ipv6')
  );
}

function addressBlockList(ranges: readonly (readonly [string, number])[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList();
  for (const [address, prefix] of ranges) list.addSubnet(address, prefix, family);
  return list;
}
