import { connect } from 'node:net';

/** So long, in milliseconds, a server may say nothing to what it has to answer. */
const LONGEST_SILENCE = 20_000;

/** A response as it came. */
export interface RawResponse {
  readonly status: number;
  /** Names in lower case; of several values the last. */
  readonly fields: ReadonlyMap<string, string>;
  /** Without its transfer coding. */
  readonly body: string;
}

/**
 * Sends octets to a server on loopback, whatever they are, and takes the first final response of the
 * connection.
 *
 * @param octets A request with `connection: close`, or what is none.
 * @returns undefined where the connection was closed without an answer, or none came for 20 seconds.
 * @throws Error where the answer is not HTTP.
 */
export async function sendRaw(port: number, octets: Buffer): Promise<RawResponse | undefined> {
  const received = await exchange(port, octets);
  return received.length === 0 ? undefined : parse(received);
}

function exchange(port: number, octets: Buffer): Promise<Buffer> {
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    const socket = connect({ host: '127.0.0.1', port });
    socket.on('data', (part) => {
      parts.push(part);
      // Not every request asks for the end of the connection.
      if (isWhole(Buffer.concat(parts).toString('latin1'))) socket.destroy();
    });
    // A server that has said enough may not want to read the rest.
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(Buffer.concat(parts)));
    socket.setTimeout(LONGEST_SILENCE, () => socket.destroy());
    socket.write(octets);
  });
}

/** Whether a final response with a length, or with chunks, is there to its end. */
function isWhole(text: string): boolean {
  const response = text.replace(/^(HTTP\/1\.1 1\d\d .*?\r\n\r\n)+/s, '');
  const end = response.indexOf('\r\n\r\n');
  if (end < 0) return false;
  const length = /^content-length: *(\d+)/im.exec(response.slice(0, end))?.[1];
  if (length === undefined) return response.endsWith('\r\n0\r\n\r\n');
  return response.length >= end + 4 + Number(length);
}

function parse(received: Buffer): RawResponse {
  const text = received.toString('latin1');
  const end = text.indexOf('\r\n\r\n');
  const [statusLine = '', ...lines] = text.slice(0, end).split('\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]);
  if (end < 0 || Number.isNaN(status))
    throw new Error(`no HTTP response: ${JSON.stringify(text.slice(0, 80))}`);
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
