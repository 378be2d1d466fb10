import ipaddr from 'ipaddr.js';
import { InvalidObservationError } from './errors.js';
import { quoted } from './text.js';

const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;

/** Whether the text is an IPv4 address in four decimals without leading zeros, which is the canonical form. */
export function isIpv4(text: string): boolean {
  return IPV4.test(text);
}

/** Whether the text is an IPv6 address in a form of RFC 4291, section 2.2, without a zone. */
export function isIpv6(text: string): boolean {
  return parseIpv6(text) !== undefined;
}

/** The host of a URL, an IPv6 address without its brackets. */
export function hostOfUrl({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '');
}

/**
 * Whether a host is this machine itself, by name (RFC 6761, section 6.3) or address (RFC 1122, section 3.2.1.3;
 * RFC 4291, section 2.5.3).
 */
export function isLoopback(text: string): boolean {
  if (text === 'localhost') return true;
  return (isIpv4(text) || isIpv6(text)) && ipaddr.process(canonicalIp(text)).range() === 'loopback';
}

/** An IPv4 or IPv6 address in canonical form. @throws InvalidObservationError */
export function canonicalIp(text: string): string {
  return text.includes(':') ? canonicalIpv6(text) : canonicalIpv4(text);
}

/** An IPv4 address, unchanged. @throws InvalidObservationError */
export function canonicalIpv4(text: string): string {
  if (isIpv4(text)) return text;
  throw new InvalidObservationError(
    `${quoted(text)} is not an IPv4 address: write four decimals without leading zeros.`,
  );
}

/** The four octets of an IPv4 address. @throws InvalidObservationError */
export function ipv4Octets(text: string): Buffer {
  return Buffer.from(canonicalIpv4(text).split('.').map(Number));
}

/**
 * An IPv6 address in the form of RFC 5952: lower case, no leading zeros, `::` for the first longest run
 * of two or more zero groups, and IPv4-mapped addresses (::ffff:0:0/96) with the IPv4 address in decimals.
 *
 * @throws InvalidObservationError
 */
export function canonicalIpv6(text: string): string {
  return usualIpv6(text) ?? formatIpv6(requireIpv6(text));
}

/**
 * The canonical text of an address by the URL Standard, which writes it as RFC 5952, section 4, says, in a quarter of the time that
 * ipaddr.js takes; undefined for what is no address, for addresses with an IPv4 part, and for IPv4-mapped ones, which it writes in
 * hexadecimal.
 */
function usualIpv6(text: string): string | undefined {
  const url = `http://[${text}]`;
  if (!/^[\dA-Fa-f:]{2,39}$/.test(text) || !URL.canParse(url)) return undefined;
  const address = new URL(url).hostname.slice(1, -1);
  return address.startsWith('::ffff:') ? undefined : address;
}

/** The 16 octets of an IPv6 address. @throws InvalidObservationError */
export function ipv6Octets(text: string): Buffer {
  return Buffer.from(requireIpv6(text).toByteArray());
}

/** The canonical text of an IPv6 address's 16 octets. */
export function ipv6OfOctets(octets: Buffer): string {
  return formatIpv6(new ipaddr.IPv6([...octets]));
}

function requireIpv6(text: string): ipaddr.IPv6 {
  const address = parseIpv6(text);
  if (address === undefined) throw new InvalidObservationError(`${quoted(text)} is not an IPv6 address.`);
  return address;
}

/** Six groups and an IPv4 address (RFC 4291, section 2.2). */
const MAX_IPV6_LENGTH = 45;

/** An IPv4 address at the end, or what is written in its place. It looks for it from each character. */
const EMBEDDED = /[^:]*\.[^:]*$/;

/**
 * ipaddr.js also accepts zones, and leading zeros in an embedded IPv4 address; and reads `::192.0.2.7` as
 * `::ffff:192.0.2.7`, so that it gets hexadecimal groups only.
 */
function parseIpv6(text: string): ipaddr.IPv6 | undefined {
  if (text.length > MAX_IPV6_LENGTH) return undefined;
  const native = text.replace(EMBEDDED, (ipv4) =>
    isIpv4(ipv4) ? ipv4Octets(ipv4).toString('hex').replace(/.{4}$/, ':$&') : 'not IPv4',
  );
  return native.includes('%') || !ipaddr.IPv6.isValid(native) ? undefined : ipaddr.IPv6.parse(native);
}

/** In the text of RFC 5952, what begins so and has two more groups is IPv4-mapped (RFC 4291, section 2.5.5.2). */
const MAPPED = /^::ffff:[^:]+:[^:]+$/;

function formatIpv6(address: ipaddr.IPv6): string {
  const text = address.toString();
  return MAPPED.test(text) ? `::ffff:${address.toIPv4Address()}` : text;
}
