import { isIPv6, type LookupFunction } from 'node:net';
import { isPublicAddress } from '../public-address.js';

/** A connection to an address that is not public was refused before it was made. */
export class PrivateAddressError extends Error {
  override readonly name = 'PrivateAddressError';
  readonly code = 'ERR_PRIVATE_ADDRESS';

  constructor(address: string) {
    super(`${address} is not a public address`);
  }
}

/**
 * A socket's lookup that resolves nothing: its answer for any name is the one address, and a
 * PrivateAddressError where that is not public. The socket connects to this very answer, so that between
 * check and connection nothing can change, and no name is ever resolved behind the check.
 */
export function guardedLookup(address: string, allowPrivate: boolean): LookupFunction {
  return (_name, options, callback) => {
    if (!allowPrivate && !isPublicAddress(address)) {
      callback(new PrivateAddressError(address), '', 0);
      return;
    }
    const family = isIPv6(address) ? 6 : 4;
    if (options.all === true) callback(null, [{ address, family }]);
    else callback(null, address, family);
  };
}
