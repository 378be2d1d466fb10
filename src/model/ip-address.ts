import ipaddr from 'ipaddr.js';
import { invalidText } from './text.js';

const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;

/** In four decimals without leading zeros, which is the canonical form. */
export function isIpv4(text: string): boolean {
  return IPV4.test(text);
}

/** In a form of RFC 4291, section 2.2, without a zone. */
export function isIpv6(text: string): boolean {
  return /^[\dA-Fa-f:.]{2,45}$/.test(text) && URL.canParse(`http://[${text}]`);
}

/** An IPv6 address without its brackets. */
export function hostOfUrl({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '');
}

/** By name (RFC 6761, section 6.3) or address (RFC 1122, section 3.2.1.3; RFC 4291, section 2.5.3). */
export function isLoopback(text: string): boolean {
  const address = isIpv6(text) ? canonicalIpv6(text).replace('::ffff:', '') : text;
  return address === 'localhost' || address === '::1' || (isIpv4(address) && address.startsWith('127.'));
}

/** @throws InvalidObservationError */
export function canonicalIp(text: string): string {
  return text.includes(':') ? canonicalIpv6(text) : canonicalIpv4(text);
}

/** @throws InvalidObservationError */
export function canonicalIpv4(text: string): string {
  if (isIpv4(text)) return text;
  throw invalidText(text, 'an IPv4 address: write four decimals without leading zeros');
}

/** @throws InvalidObservationError */
export function ipv4Octets(text: string): Buffer {
  return Buffer.from(canonicalIpv4(text).split('.').map(Number));
}

/** IPv4-mapped in the text of RFC 5952: two more groups follow (RFC 4291, section 2.5.5.2). */
const MAPPED = /^::ffff:[^:]+:[^:]+$/;

/**
 * In the form of RFC 5952: lower case, no leading zeros, `::` for the first longest run of two or more zero
 * groups, and IPv4-mapped addresses with the IPv4 address in decimals. @throws InvalidObservationError
 */
export function canonicalIpv6(text: string): string {
  const address = compressedGroups(text);
  return MAPPED.test(address) ? `::ffff:${octetsOf(address).subarray(12).join('.')}` : address;
}

/** @throws InvalidObservationError */
export function ipv6Octets(text: string): Buffer {
  return octetsOf(compressedGroups(text));
}

export function ipv6OfOctets(octets: Buffer): string {
  return canonicalIpv6(octets.toString('hex').replace(/.{4}(?=.)/g, '$&:'));
}

/** As the URL Standard writes an address: as RFC 5952, section 4, says, but in hexadecimal throughout. */
function compressedGroups(text: string): string {
  if (!isIpv6(text)) throw invalidText(text, 'an IPv6 address');
  return new URL(`http://[${text}]`).hostname.slice(1, -1);
}

function octetsOf(address: string): Buffer {
  return Buffer.from(ipaddr.IPv6.parse(address).toByteArray());
}
