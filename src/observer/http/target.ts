import { isIP, isIPv4, isIPv6, type LookupFunction } from 'node:net';
import { isPublicAddress } from '../public-address.js';

/** Addresses are tried one after the other: more of them would only take time. */
const MAX_ADDRESSES = 4;

export interface Target {
  readonly scheme: 'https' | 'http';
  readonly domain: string;
  readonly address: string;
  readonly port: number;
}

/**
 * The addresses to try, at most four, IPv4 first and otherwise in the order given: the public ones, or all with
 * `allowPrivate`. Text that is no address literal is skipped.
 */
export function selectAddresses(addresses: readonly string[], allowPrivate: boolean): readonly string[] {
  const allowed = [...new Set(addresses)].filter(
    (address) => isIP(address) !== 0 && (allowPrivate || isPublicAddress(address)),
  );
  return [...allowed.filter(isIPv4), ...allowed.filter(isIPv6)].slice(0, MAX_ADDRESSES);
}

export class PrivateAddressError extends Error {
  override readonly name = 'PrivateAddressError';

  constructor([address = 'nothing']: readonly string[]) {
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
    const found = selected.map((address) => ({ address, family: isIP(address) }));
    const [first] = found;
    if (first === undefined) callback(new PrivateAddressError(addresses), '', 0);
    else if (options.all === true) callback(null, found);
    else callback(null, first.address, first.family);
  };
}

const DEFAULT_PORT = { https: 443, http: 80 } as const;

/** The value of the Host field: with the port only where it is not the scheme's own (RFC 9110, section 7.2). */
export function hostField({ scheme, domain, port }: Target): string {
  return port === DEFAULT_PORT[scheme] ? domain : `${domain}:${port}`;
}
