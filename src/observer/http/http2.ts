import { connect } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { errorCode } from '../../model/errors.js';
import type { HeaderField, ResponseHead } from '../../model/response-head.js';
import {
  HEAD_TOO_LARGE,
  InvalidResponseError,
  LARGEST_HEAD,
  MOST_INTERIM_RESPONSES,
  TOO_MANY_INTERIM,
} from './response.js';

/**
 * What Node.js takes of a header section: 64 kB of the shortest lines are so many fields, each of which counts 32 octets more
 * in HTTP/2 (RFC 9113, section 6.5.2).
 */
const MOST_FIELDS = LARGEST_HEAD / ':\r\n'.length;
const LARGEST_SECTION = LARGEST_HEAD + 32 * MOST_FIELDS;

/** Any URL will do: `:authority` has the domain's name, and not every name can be in a URL. */
const ANY_URL = 'https://domain.invalid';

/**
 * Requests `/` by HTTP/2 on a socket that has agreed on it, and waits for the head of the final response. No body is
 * read, and the socket is destroyed.
 *
 * @param authority The domain, with the port where it is not the scheme's own.
 * @returns the head with a character for each octet, without pseudo-header fields.
 * @throws InvalidResponseError, or the socket's error.
 */
export async function requestHeadByHttp2(
  socket: TLSSocket,
  authority: string,
  userAgent: string,
): Promise<Pick<ResponseHead, 'status' | 'fields'>> {
  const session = connect(ANY_URL, {
    createConnection: () => socket,
    settings: { enablePush: false, maxHeaderListSize: LARGEST_SECTION },
    maxHeaderListPairs: MOST_FIELDS,
  });
  try {
    return await new Promise((resolve, reject) => {
      const fail = (error: Error) => reject(meaningOf(error));
      session.on('error', fail);
      const request = { ':path': '/', ':scheme': 'https', ':authority': authority };
      const stream = session.request({ ...request, 'user-agent': userAgent, accept: '*/*' });
      let interim = 0;
      stream.on('headers', () => {
        interim += 1;
        if (interim > MOST_INTERIM_RESPONSES) reject(new InvalidResponseError('too-large', TOO_MANY_INTERIM));
      });
      // Node.js gives the fields as they came, too; its types do not know it.
      stream.on('response', ({ ':status': status = 0 }, _flags, raw: readonly string[] = []) => {
        const fields = fieldsOf(raw);
        const length = fields.reduce((sum, [name, value]) => sum + name.length + value.length + 4, 0);
        if (length <= LARGEST_HEAD) resolve({ status, fields });
        else reject(new InvalidResponseError('too-large', HEAD_TOO_LARGE));
      });
      stream.on('error', fail);
      stream.on('close', () => reject(new Error('the connection was closed')));
    });
  } finally {
    session.destroy();
  }
}

/** Pseudo-header fields are no header fields (RFC 9113, section 8.3). */
function fieldsOf(raw: readonly string[]): HeaderField[] {
  return raw.flatMap((name, at) => (at % 2 === 1 || name.startsWith(':') ? [] : [[name, raw[at + 1] ?? '']]));
}

/** Node.js ends a stream with too many fields with ENHANCE_YOUR_CALM, and takes nine frames for them at most. */
function meaningOf(error: Error): Error {
  if (!/^ERR_HTTP2_/.test(errorCode(error))) return error;
  return /ENHANCE_YOUR_CALM|Too many CONTINUATION frames/.test(error.message)
    ? new InvalidResponseError('too-large', HEAD_TOO_LARGE)
    : new InvalidResponseError('malformed', error.message);
}
