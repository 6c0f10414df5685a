import { BlockList, isIP, isIPv6 } from 'node:net';

/** The host and the port of a Host header or of an origin. */
export interface HostName {
  /** A host in lower case, without a final dot; an IPv6 address in its shortest form, in brackets. */
  readonly name: string;
  readonly port: string | undefined;
}

// Matches a host without user, path or white space, whose name has no empty label. An IPv4 address in an unusual form,
// such as `127.1`, counts as a name.
const HOST = /^(?<name>\[[0-9a-f:.]{2,45}\]|[a-z0-9_-]+(?:\.[a-z0-9_-]+)*)\.?(?::(?<port>\d{1,5}))?$/u;

/** Reads a host and its port. Returns undefined for a text that is not a host. */
export function parseHost(text: string): HostName | undefined {
  const { name, port } = HOST.exec(text.toLowerCase())?.groups ?? {};
  if (name === undefined) return undefined;
  if (!name.startsWith('[')) return { name, port };
  return isIPv6(name.slice(1, -1)) ? { name: new URL(`http://${name}`).hostname, port } : undefined;
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8);
LOOPBACK.addAddress('::1', 'ipv6');

/** Whether an address, such as a connection's remote address, belongs to this machine alone. */
export function isLoopback(address: string): boolean {
  const family = isIP(address);
  return family !== 0 && LOOPBACK.check(address, family === 6 ? 'ipv6' : 'ipv4');
}

/**
 * The address as a Host header contains it. An IPv4-mapped IPv6 address becomes an IPv4 address. Returns undefined for
 * a text that is not an address.
 */
export function hostOfAddress(address: string): string | undefined {
  const plain = address.replace(/^::ffff:(?=\d+\.)/iu, '').replace(/%.*/su, '');
  return parseHost(isIPv6(plain) ? `[${plain}]` : plain)?.name;
}
