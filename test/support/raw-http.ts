import { connect } from 'node:net';
import { text } from 'node:stream/consumers';

/** So long, in milliseconds, a server may say nothing to what it has to answer. */
const LONGEST_SILENCE = 20_000;

export interface RawResponse {
  readonly status: number;
  /** Names in lower case; of several values the last. */
  readonly fields: ReadonlyMap<string, string>;
  /** Without its transfer coding. */
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
    const received = new Received();
    let kind: Failure = 'refused';
    const socket = connect({ host: '127.0.0.1', port });
    const end = (why: Failure) => {
      kind = why;
      socket.destroy();
    };
    socket.on('connect', () => {
      kind = 'closed';
    });
    socket.on('data', (part) => {
      received.add(part);
      if (received.length > mostOctets) end('endless');
      // Not every request asks for the end of the connection.
      else if (received.isWhole()) socket.destroy();
    });
    // A server that has said enough may not want to read the rest.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      if (kind !== 'closed' || received.length === 0) return resolve({ kind });
      const response = parse(received.octets());
      resolve(response === undefined ? { kind: 'garbled' } : { kind: 'answered', response });
    });
    socket.setTimeout(LONGEST_SILENCE, () => end('silent'));
    socket.write(octets);
  });
}

const MOST_OCTETS = 5_000_000;

/** The response to octets that have one. @throws Error where nothing was answered. */
export async function exchangeRaw(port: number, octets: Buffer): Promise<RawResponse> {
  const outcome = await sendRaw(port, octets, MOST_OCTETS);
  if (outcome.kind !== 'answered') throw new Error(`There was no answer: ${outcome.kind}.`);
  return outcome.response;
}

/** Sends octets as they are, in Latin-1, and gives all that comes back until the connection is closed. */
export async function readRaw(port: number, octets: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.write(octets, 'latin1');
  return text(socket);
}

const LAST_CHUNK = '\r\n0\r\n\r\n';

/** The octets of a connection, looked at as they come: answers may be long. */
class Received {
  readonly #parts: Buffer[] = [];
  /** Where the final response's content begins and, where that was announced, ends. */
  #content: { readonly start: number; readonly end: number | undefined } | undefined;
  length = 0;

  add(part: Buffer): void {
    this.#parts.push(part);
    this.length += part.length;
    this.#content ??= contentOf(this.octets().toString('latin1'));
  }

  octets(): Buffer {
    return Buffer.concat(this.#parts);
  }

  /** Whether a final response with a length, or with chunks, is there to its end. */
  isWhole(): boolean {
    if (this.#content === undefined) return false;
    const { start, end } = this.#content;
    if (end !== undefined) return this.length >= end;
    const latest = Buffer.concat(this.#parts.slice(-8)).toString('latin1');
    return this.length > start && latest.endsWith(LAST_CHUNK);
  }
}

function contentOf(text: string): { start: number; end: number | undefined } | undefined {
  const skipped = /^(HTTP\/1\.1 1\d\d .*?\r\n\r\n)+/s.exec(text)?.[0].length ?? 0;
  const headEnd = text.indexOf('\r\n\r\n', skipped);
  if (headEnd < 0) return undefined;
  const length = /^content-length: *(\d+)/im.exec(text.slice(skipped, headEnd))?.[1];
  const start = headEnd + 4;
  return { start, end: length === undefined ? undefined : start + Number(length) };
}

function parse(received: Buffer): RawResponse | undefined {
  const text = received.toString('latin1');
  const end = text.indexOf('\r\n\r\n');
  const [statusLine = '', ...lines] = text.slice(0, end).split('\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]);
  if (end < 0 || Number.isNaN(status)) return undefined;
  if (status < 200) return parse(received.subarray(end + 4));
  const fields = new Map(lines.map((line) => [fieldName(line), line.slice(line.indexOf(':') + 1).trim()]));
  const content = received.subarray(end + 4);
  const body = fields.get('transfer-encoding') === 'chunked' ? joinChunks(content) : content;
  return { status, fields, body: body.toString('utf8') };
}

function fieldName(line: string): string {
  return line.slice(0, line.indexOf(':')).toLowerCase();
}

function joinChunks(content: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; ; ) {
    const lineEnd = content.indexOf('\r\n', at);
    const length = Number.parseInt(content.toString('latin1', at, lineEnd), 16);
    if (lineEnd < 0 || !(length > 0)) return Buffer.concat(parts);
    parts.push(content.subarray(lineEnd + 2, lineEnd + 2 + length));
    at = lineEnd + 2 + length + 2;
  }
}
