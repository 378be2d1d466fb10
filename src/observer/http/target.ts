import { isIP, isIPv4, isIPv6 } from 'node:net';
import type { Failure } from '../failure.js';
import { isPublicAddress } from '../public-address.js';

/** A domain's addresses are tried one after the other: more than these would only take time. */
const MOST_ADDRESSES = 4;

/** The front page of a domain at one of its addresses. */
export interface Target {
  readonly scheme: 'https' | 'http';
  readonly domain: string;
  readonly address: string;
  readonly port: number;
}

/**
 * The addresses to try, at most four, IPv4 first and otherwise in the order given: the public ones, or all
 * where `allowPrivate` holds. Where none is left, the reason.
 *
 * @param addresses Address literals as DNS answered them. A text that is none is passed over.
 */
export function selectAddresses(
  addresses: readonly string[],
  allowPrivate: boolean,
): { readonly addresses: readonly string[] } | { readonly failure: Failure } {
  const known = [...new Set(addresses)].filter((address) => isIP(address) !== 0);
  if (known.length === 0) return { failure: { code: 'no-address', message: 'the domain has no address' } };
  const allowed = known.filter((address) => allowPrivate || isPublicAddress(address));
  if (allowed.length === 0) return { failure: noPublicAddress(known) };
  const inOrder = [...allowed.filter(isIPv4), ...allowed.filter(isIPv6)];
  return { addresses: inOrder.slice(0, MOST_ADDRESSES) };
}

function noPublicAddress(addresses: readonly string[]): Failure {
  const [first, ...others] = addresses;
  const message =
    others.length === 0
      ? `${first} is not a public address`
      : `none of the domain's addresses is public: ${addresses.slice(0, MOST_ADDRESSES).join(', ')}`;
  return { code: 'private-address', message };
}

/** Address and port as they are written in a URL, such as `192.0.2.7:443` or `[2001:db8::7]:443`. */
export function endpointText({ address, port }: Target): string {
  return isIPv6(address) ? `[${address}]:${port}` : `${address}:${port}`;
}

const DEFAULT_PORT = { https: 443, http: 80 } as const;

/** The value of the Host field: with the port only where it is not the scheme's own (RFC 9110, section 7.2). */
export function hostField({ scheme, domain, port }: Target): string {
  return port === DEFAULT_PORT[scheme] ? domain : `${domain}:${port}`;
}
