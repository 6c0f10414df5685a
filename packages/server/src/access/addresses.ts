import { BlockList, isIP, isIPv6 } from 'node:net';

/** A Host header, or the part of an origin after its scheme. */
export interface HostName {
  /** A host in lower case, without a final dot; an IPv6 address in its shortest form, in brackets. */
  readonly name: string;
  readonly port: string | undefined;
}

// The host has no user, path or white space; a name has no empty label. Other spellings of an IPv4 address
// are not resolved.
const HOST = /^(?<name>\[[0-9a-f:.]{2,45}\]|[a-z0-9_-]+(?:\.[a-z0-9_-]+)*)\.?(?::(?<port>\d{1,5}))?$/u;

/** Reads a host and its port. Undefined for a text that is not a host. */
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

/** An address in the form of a Host header; an IPv4 address from an IPv6 socket becomes IPv4. */
export function hostOfAddress(address: string): string | undefined {
  const plain = address.replace(/^::ffff:(?=\d+\.)/iu, '').replace(/%.*$/u, '');
  return parseHost(isIPv6(plain) ? `[${plain}]` : plain)?.name;
}
