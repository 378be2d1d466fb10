import { type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import type { HttpFailureCode } from '../failure.js';
import type { Lifeline } from './lifeline.js';

/** In octets: all field lines of a response and its status line together. */
const LARGEST_HEAD = 65_536;
const MOST_FIELDS = 500;
const MOST_INTERIM_RESPONSES = 10;

/** The head of a final response. */
export interface ResponseHead {
  readonly status: number;
  /** Names and values in turns, as received. */
  readonly rawHeaders: readonly string[];
}

/** What came is a response that cannot be taken. The message says what is wrong with it. */
export class ResponseRefusedError extends Error {
  override readonly name = 'ResponseRefusedError';
  readonly code: HttpFailureCode & ('malformed' | 'too-large');

  constructor(code: 'malformed' | 'too-large', message: string) {
    super(message);
    this.code = code;
  }
}

/** The text that a failure gives for HPE_HEADER_OVERFLOW. */
export const LARGEST_HEAD_TEXT = `its head is larger than ${LARGEST_HEAD / 1024} kB`;

/**
 * Asks for `/` on a connected socket, and waits for the head of the final response. What comes after it
 * is left in the socket.
 *
 * @throws ResponseRefusedError for too many fields or interim responses, for a version of HTTP that has no
 * such head, and for a switch of protocols; otherwise the parser's error (HPE_…) or the socket's.
 */
export function readHead(
  socket: Socket,
  fields: Readonly<Record<string, string>>,
  lifeline: Lifeline,
): Promise<ResponseHead> {
  return lifeline.until(
    new Promise((resolve, reject) => {
      const asked = request({
        createConnection: () => socket,
        method: 'GET',
        path: '/',
        setHost: false,
        headers: { ...fields, Accept: '*/*', Connection: 'close' },
        maxHeaderSize: LARGEST_HEAD,
        insecureHTTPParser: false,
      });
      // What is over the limit would be dropped in silence: the size bounds the number, and takeHead counts.
      asked.maxHeadersCount = 0;
      countInterimResponses(asked, reject);
      asked.on('upgrade', () => reject(new ResponseRefusedError('malformed', 'it switches protocols')));
      asked.on('response', (response) => takeHead(response, resolve, reject));
      asked.on('error', reject);
      asked.end();
    }),
  );
}

function countInterimResponses(asked: ReturnType<typeof request>, reject: (reason: Error) => void): void {
  let interim = 0;
  asked.on('information', () => {
    interim += 1;
    if (interim <= MOST_INTERIM_RESPONSES) return;
    const message = `more than ${MOST_INTERIM_RESPONSES} interim responses came`;
    reject(new ResponseRefusedError('too-large', message));
  });
}

function takeHead(
  response: IncomingMessage,
  resolve: (head: ResponseHead) => void,
  reject: (reason: Error) => void,
): void {
  // The body that nobody reads ends in an error.
  response.on('error', () => undefined);
  const { statusCode = 0, httpVersionMajor, httpVersion, rawHeaders } = response;
  if (httpVersionMajor !== 1) {
    reject(new ResponseRefusedError('malformed', `its version is HTTP/${httpVersion}`));
  } else if (statusCode < 200) {
    reject(new ResponseRefusedError('malformed', `its status is ${statusCode}`));
  } else if (rawHeaders.length > 2 * MOST_FIELDS) {
    reject(new ResponseRefusedError('too-large', `its head has more than ${MOST_FIELDS} fields`));
  } else {
    resolve({ status: statusCode, rawHeaders });
  }
}
