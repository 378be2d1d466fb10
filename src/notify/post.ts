import { lookup } from 'node:dns/promises';
import { request as requestByHttp } from 'node:http';
import { request as requestByHttps } from 'node:https';
import { messageOf } from '../model/errors.js';
import { hostOfUrl } from '../model/ip-address.js';
import { guardedLookup, PrivateAddressError, selectAddresses } from '../observer/http/target.js';
import type { Answer } from './delivery.js';
import type { KeptMessage, Sending } from './messages.js';

/** In milliseconds, from the look-up of the name to the head of the response. */
const TIMEOUT = 10_000;

/**
 * Posts JSON. Redirections are not followed: their target was not the one that was chosen. Of the response only
 * the head is read.
 */
export async function post(
  { url: address, body }: KeptMessage,
  fields: Readonly<Record<string, string>>,
  { allowPrivate }: Sending,
  signal: AbortSignal,
): Promise<Answer> {
  const timeout = AbortSignal.timeout(TIMEOUT);
  try {
    const url = new URL(address);
    // A socket looks no address up, and so checks none.
    const found = await lookup(hostOfUrl(url), { all: true });
    const addresses = found.map((each) => each.address);
    if (selectAddresses(addresses, allowPrivate).length === 0) throw new PrivateAddressError(addresses);
    const options = {
      method: 'POST',
      headers: { ...fields, 'content-type': 'application/json', 'user-agent': 'domain-metadata-service' },
      agent: false,
      lookup: guardedLookup(addresses, allowPrivate),
      signal: AbortSignal.any([signal, timeout]),
    };
    const request = url.protocol === 'https:' ? requestByHttps : requestByHttp;
    return await new Promise<Answer>((answered, failed) => {
      request(url, options, (response) => {
        answered({ status: response.statusCode ?? 0, retryAfter: response.headers['retry-after'] });
        // A receiver could send without end.
        response.destroy();
      })
        .on('error', failed)
        .end(body);
    });
  } catch (error) {
    return { status: 0, said: timeout.aborted ? 'no response in time' : messageOf(error) };
  }
}
