import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { buffer, text } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';

/** So long, in milliseconds, a server may say nothing to what it has to answer. */
const LONGEST_SILENCE = 20_000;

export interface RawResponse {
  readonly status: number;
  /** By their names in lower case. */
  readonly fields: ReadonlyMap<string, string>;
  /** Without its transfer coding and its content coding. */
  readonly body: string;
}

export type RawOutcome =
  | { readonly kind: 'answered'; readonly response: RawResponse }
  | { readonly kind: Failure };

/** No connection; one closed without an answer; nothing for 20 seconds; more octets than may be; no HTTP. */
type Failure = 'refused' | 'closed' | 'silent' | 'endless' | 'garbled';

/** Sends octets, whatever they are, and takes the first final response. @param mostOctets Of an answer. */
export function sendRaw(port: number, octets: Buffer, mostOctets: number): Promise<RawOutcome> {
  return new Promise((resolve) => {
    let [kind, length]: [Failure, number] = ['refused', 0];
    const socket = connect({ host: '127.0.0.1', port });
    const end = (outcome: RawOutcome) => {
      resolve(outcome);
      socket.destroy();
    };
    socket.on('connect', () => {
      kind = 'closed';
    });
    socket.on('data', (part) => {
      kind = 'garbled';
      length += part.length;
      if (length > mostOctets) end({ kind: 'endless' });
    });
    socket.setTimeout(LONGEST_SILENCE, () => end({ kind: 'silent' }));
    socket.write(octets);
    // Node.js reads the response; what it would send itself is not sent.
    const method = octets.subarray(0, 5).equals(Buffer.from('HEAD ')) ? 'HEAD' : 'GET';
    const createConnection = () => Object.assign(socket, { write: () => true });
    const exchange = request({ method, createConnection, maxHeaderSize: mostOctets }).end();
    let hasResponse = false;
    // What comes behind a response is none: a HEAD that is no HTTP gets one with a body.
    exchange.on('error', () => hasResponse || end({ kind }));
    exchange.on('response', (response) => {
      hasResponse = true;
      const { statusCode: status = 0, headers } = response;
      const fields = new Map(Object.entries(headers).map(([name, value]) => [name, String(value)]));
      const answered = (body: string) => end({ kind: 'answered', response: { status, fields, body } });
      readBody(response).then(answered, () => end({ kind }));
    });
  });
}

async function readBody(response: IncomingMessage): Promise<string> {
  const body = await buffer(response);
  const isPacked = response.headers['content-encoding'] === 'gzip' && body.length > 0;
  return (isPacked ? gunzipSync(body) : body).toString();
}

const MAX_OCTETS = 5_000_000;

/** The response to octets that have one. @throws Error where nothing was answered. */
export async function exchangeRaw(port: number, octets: Buffer): Promise<RawResponse> {
  const outcome = await sendRaw(port, octets, MAX_OCTETS);
  if (outcome.kind !== 'answered') throw new Error(`There was no answer: ${outcome.kind}.`);
  return outcome.response;
}

/** Sends octets as they are, in Latin-1, and gives all that comes back until the connection is closed. */
export async function readRaw(port: number, octets: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.write(octets, 'latin1');
  return text(socket);
}
