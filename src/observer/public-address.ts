import ipaddr from 'ipaddr.js';
import { canonicalIpv6, isIpv4, isIpv6 } from '../model/ip-address.js';

/** IPv6 addresses that contain an IPv4 address, from an octet on, where the packets go in the end. */
const EMBEDDED_IPV4 = [
  // IPv4-mapped: the socket speaks IPv4 (RFC 4291, section 2.5.5.2).
  { prefix: ipaddr.IPv6.parseCIDR('::ffff:0:0/96'), octet: 12 },
  // NAT64's well-known prefix (RFC 6052, section 2.1). The local ones beside it are not public (RFC 8215).
  { prefix: ipaddr.IPv6.parseCIDR('64:ff9b::/96'), octet: 12 },
  // 6to4 (RFC 3056, section 2).
  { prefix: ipaddr.IPv6.parseCIDR('2002::/16'), octet: 2 },
];

/** The address space of the 6bone, returned to IANA (RFC 3701). */
const SIXBONE = ipaddr.IPv6.parseCIDR('3ffe::/16');

/** All that IANA has allocated for global unicast (RFC 4291, section 2.4, and its registry of the space). */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');

/**
 * Whether a text is a public address: of global unicast, and in no special range of the IANA registries (RFC
 * 6890). An IPv6 address that leads to an IPv4 address is public where that one is.
 *
 * @param address Any text that is not four decimals without leading zeros, nor a form of RFC 4291, section 2.2,
 * without a zone, is not public: sockets read octal and hexadecimal notations, too.
 */
export function isPublicAddress(address: string): boolean {
  if (isIpv4(address)) return ipaddr.IPv4.parse(address).range() === 'unicast';
  if (!isIpv6(address)) return false;
  const ipv6 = ipaddr.IPv6.parse(canonicalIpv6(address));
  const { octet } = EMBEDDED_IPV4.find(({ prefix }) => ipv6.match(prefix)) ?? {};
  return octet === undefined
    ? ipv6.range() === 'unicast' && ipv6.match(GLOBAL_UNICAST) && !ipv6.match(SIXBONE)
    : new ipaddr.IPv4(ipv6.toByteArray().slice(octet, octet + 4)).range() === 'unicast';
}
