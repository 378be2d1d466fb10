import { isIP, isIPv4, isIPv6, type LookupFunction } from 'node:net';
import { type Failed, failed } from '../failure.js';
import { isPublicAddress } from '../public-address.js';

/** Addresses are tried one after the other: more of them would only take time. */
const MOST_ADDRESSES = 4;

/** The front page of a domain at one of its addresses. */
export interface Target {
  readonly scheme: 'https' | 'http';
  readonly domain: string;
  readonly address: string;
  readonly port: number;
}

export const NO_ADDRESS = failed('no-address', 'the domain has no address');

/**
 * The addresses to try, at most four, IPv4 first and otherwise in the order given: the public ones, or all
 * with `allowPrivate`. If none is left, the failure.
 *
 * @param addresses Address literals from DNS. Any other text is skipped.
 */
export function selectAddresses(
  addresses: readonly string[],
  allowPrivate: boolean,
): readonly string[] | Failed {
  const known = [...new Set(addresses)].filter((address) => isIP(address) !== 0);
  if (known.length === 0) return NO_ADDRESS;
  const allowed = known.filter((address) => allowPrivate || isPublicAddress(address));
  if (allowed.length > 0) {
    return [...allowed.filter(isIPv4), ...allowed.filter(isIPv6)].slice(0, MOST_ADDRESSES);
  }
  const shown = known.slice(0, MOST_ADDRESSES).join(', ');
  const message =
    known.length === 1
      ? `${shown} is not a public address`
      : `none of the domain's addresses is public: ${shown}`;
  return failed('private-address', message);
}

/** A connection was rejected before it was made. */
export class PrivateAddressError extends Error {
  override readonly name = 'PrivateAddressError';
  readonly code = 'ERR_PRIVATE_ADDRESS';

  constructor(address: string) {
    super(`${address} is not a public address`);
  }
}

/**
 * A socket's lookup that resolves nothing: for any name it gives those of the addresses to try, or a
 * PrivateAddressError if none is public. The socket connects to this very result, so that nothing can change
 * between check and connection, and no name is ever resolved behind the check.
 */
export function guardedLookup(addresses: readonly string[], allowPrivate: boolean): LookupFunction {
  return (_name, options, callback) => {
    const selected = selectAddresses(addresses, allowPrivate);
    const found = 'kind' in selected ? [] : selected.map((address) => ({ address, family: isIP(address) }));
    const [first] = found;
    if (first === undefined) callback(new PrivateAddressError(addresses.join(', ')), '', 0);
    else if (options.all === true) callback(null, found);
    else callback(null, first.address, first.family);
  };
}

const DEFAULT_PORT = { https: 443, http: 80 } as const;

/** The value of the Host field: with the port only where it is not the scheme's own (RFC 9110, section 7.2). */
export function hostField({ scheme, domain, port }: Target): string {
  return port === DEFAULT_PORT[scheme] ? domain : `${domain}:${port}`;
}
