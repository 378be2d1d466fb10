import { lookup as resolve } from 'node:dns';
import { request as requestByHttp } from 'node:http';
import { request as requestByHttps } from 'node:https';
import { isIP, isIPv6, type LookupFunction } from 'node:net';
import { messageOf } from '../model/errors.js';
import { PrivateAddressError, selectAddresses } from '../observer/http/target.js';
import type { Answer } from './delivery.js';

/** In milliseconds, from the look-up of the name to the head of the response. */
const TIMEOUT = 10_000;

const USER_AGENT = 'domain-metadata-service';

/**
 * Posts JSON. Redirections are not followed: their target was not the one that was chosen. Of the response only the head is read.
 *
 * @param allowPrivate Whether the receiver may be at an address that is not public.
 * @param signal Ends it.
 */
export async function post(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  allowPrivate: boolean,
  signal: AbortSignal,
): Promise<Answer> {
  const timeout = AbortSignal.timeout(TIMEOUT);
  try {
    const ended = AbortSignal.any([signal, timeout]);
    return await send(new URL(url), headers, Buffer.from(body), allowPrivate, ended);
  } catch (error) {
    return { error: timeout.aborted ? 'no response in time' : messageOf(error) };
  }
}

function send(
  url: URL,
  headers: Readonly<Record<string, string>>,
  body: Buffer,
  allowPrivate: boolean,
  signal: AbortSignal,
): Promise<Answer> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  // A socket looks no address up.
  if (isIP(host) !== 0) allowed([host], allowPrivate);
  const request = url.protocol === 'https:' ? requestByHttps : requestByHttp;
  return new Promise((answered, failed) => {
    const fields = {
      ...headers,
      'content-type': 'application/json',
      'content-length': body.length,
      'user-agent': USER_AGENT,
    };
    const options = { method: 'POST', headers: fields, agent: false, lookup: guarded(allowPrivate), signal };
    request(url, options, (response) => {
      answered({ status: response.statusCode ?? 0, retryAfter: response.headers['retry-after'] });
      // A receiver could send without end.
      response.destroy();
    })
      .on('error', failed)
      .end(body);
  });
}

/** Resolves names. The socket connects to an address of this very result: nothing can change between check and connection. */
function guarded(allowPrivate: boolean): LookupFunction {
  return (name, { all }, callback) => {
    resolve(name, { all: true }, (error, found) => {
      if (error !== null) return callback(error, '');
      try {
        const addresses = allowed(
          found.map(({ address }) => address),
          allowPrivate,
        ).map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
        if (all === true) callback(null, addresses);
        else callback(null, addresses[0]?.address ?? '', addresses[0]?.family);
      } catch (rejected) {
        callback(rejected instanceof Error ? rejected : new Error(String(rejected)), '');
      }
    });
  };
}

/** @throws PrivateAddressError if none of the addresses is allowed. */
export function allowed(addresses: readonly string[], allowPrivate: boolean): readonly string[] {
  const selected = selectAddresses(addresses, allowPrivate);
  if ('kind' in selected) throw new PrivateAddressError(addresses.join(', '));
  return selected;
}
