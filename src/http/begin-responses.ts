import type { IncomingMessage, ServerResponse } from 'node:http';
import { invalidParameter, type PublicError } from '../model/errors.js';
import { DEFAULT_FIELDS, VARY } from './response-fields.js';

/**
 * Makes what begins every response: it sets the fields that all have, and rejects malformed requests.
 *
 * @param variesByOrigin Whether the response is another for another site's page.
 */
export function beginResponses(variesByOrigin: boolean) {
  const fields = Object.entries({ ...DEFAULT_FIELDS, vary: variesByOrigin ? `${VARY}, Origin` : VARY });
  return (request: IncomingMessage, response: ServerResponse): void => {
    for (const [name, value] of fields) response.setHeader(name, value);
    requireSingleFields(request);
    ignoreLongPreferences(request);
  };
}

/** In characters. Negotiation takes longer than a request otherwise. */
const LONGEST_PREFERENCE = 1_000;

/** A server may ignore what a client prefers (RFC 9110, sections 12.5.1 and 12.5.3). */
function ignoreLongPreferences({ headers }: IncomingMessage): void {
  if ((headers.accept?.length ?? 0) > LONGEST_PREFERENCE) delete headers.accept;
  if ((headers['accept-encoding']?.length ?? 0) > LONGEST_PREFERENCE) delete headers['accept-encoding'];
}

/**
 * Rejects a request without exactly one Host (RFC 9112, section 3.2), or with more than one Authorization,
 * which is not a list (RFC 9110, section 5.3).
 *
 * @throws PublicError INVALID_PARAMETER.
 */
function requireSingleFields({ rawHeaders, httpVersion }: IncomingMessage): void {
  // `headers` has the first of several fields only.
  const hosts = countFields(rawHeaders, 'host');
  if (hosts !== 1 && (hosts !== 0 || httpVersion !== '1.0')) {
    throw malformed('have one header field Host (RFC 9112, section 3.2)');
  }
  if (countFields(rawHeaders, 'authorization') > 1) {
    throw malformed('not have more than one header field Authorization (RFC 9110, section 5.3)');
  }
}

function malformed(rule: string): PublicError {
  return invalidParameter(`The request must ${rule}.`);
}

/** @param rawHeaders A name and a value each. @param name In lower case. */
function countFields(rawHeaders: readonly string[], name: string): number {
  const isNamed = (sent: string) => sent.length === name.length && sent.toLowerCase() === name;
  return rawHeaders.filter((sent, index) => index % 2 === 0 && isNamed(sent)).length;
}
