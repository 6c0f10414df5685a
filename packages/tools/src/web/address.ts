import { BlockList, isIP } from 'node:net';

/*
 * The public addresses. IPv4: everything except the special-purpose ranges (RFC 6890 and its successors). IPv6:
 * only global unicast, 2000::/3, without its special-purpose ranges. So every form that contains an IPv4 address
 * (mapped, compatible, NAT64, 6to4, Teredo) is not public.
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

const specialIpv4 = listOf(SPECIAL_IPV4, 'ipv4');
const specialIpv6 = listOf(SPECIAL_IPV6, 'ipv6');
const globalIpv6 = listOf([['2000::', 3]], 'ipv6');

/** Whether an address in its normal notation can be reached by everyone on the internet. */
export function isPublicAddress(address: string): boolean {
  const version = isIP(address);
  // A zone names a network interface of this machine.
  if (version === 0 || address.includes('%')) return false;
  if (version === 4) return !specialIpv4.check(address, 'ipv4');
  return globalIpv6.check(address, 'ipv6') && !specialIpv6.check(address, 'ipv6');
}

function listOf(ranges: readonly (readonly [string, number])[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList();
  for (const [address, prefix] of ranges) list.addSubnet(address, prefix, family);
  return list;
}
