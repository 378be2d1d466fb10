import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Request, Response } from 'express';

/** Below this many bytes a body goes into one packet anyway. */
const WORTH_IT = 1_024;

/** Higher ones take several times as long, for a few percent. */
const BROTLI_QUALITY = 4;

const COMPRESSIBLE = /^(?:text\/|application\/(?:[\w.-]+\+)?(?:json|xml|yaml|javascript))/;

const CODINGS = {
  br: (body: Buffer) =>
    promisify(brotliCompress)(body, {
      params: {
        [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
        [constants.BROTLI_PARAM_SIZE_HINT]: body.length,
      },
    }),
  gzip: (body: Buffer) => promisify(gzip)(body),
};

type Coding = keyof typeof CODINGS;

/**
 * Sends the body in the content coding that the client likes best (RFC 9110, section 12.5.3). A request
 * without Accept-Encoding passes untouched.
 *
 * Answers are whole when they are sent, and so each is compressed as a whole: HEAD then has the same
 * Content-Length as GET (RFC 9110, section 8.6).
 */
export function compressResponse(request: Request, response: Response): void {
  if (request.headers['accept-encoding'] === undefined) return;
  const coding = request.acceptsEncodings('br', 'gzip', 'identity');
  if (coding === 'br' || coding === 'gzip') compressWhole(response, coding);
}

function compressWhole(response: Response, coding: Coding): void {
  const { write, writeHead, end } = response;
  const restore = () => Object.assign(response, { write, writeHead, end });
  // The fields can be changed only until they are written: they wait for the body.
  response.writeHead = (status: number, ...rest: readonly unknown[]) => {
    response.statusCode = status;
    for (const part of rest) setFields(response, part);
    return response;
  };
  // A body in parts goes as it is.
  response.write = (chunk: unknown, ...rest: readonly unknown[]) => {
    restore();
    return Reflect.apply(write, response, [chunk, ...rest]);
  };
  response.end = (...args: readonly unknown[]) => {
    restore();
    const [chunk] = args;
    const body = bytesOf(chunk);
    if (body === undefined || !isWorthIt(response, body)) return Reflect.apply(end, response, args);
    endCompressed(response, body, coding);
    return response;
  };
}

function setFields(response: Response, fields: unknown): void {
  if (typeof fields === 'string') response.statusMessage = fields;
  if (typeof fields !== 'object' || fields === null) return;
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined) response.setHeader(name, value);
  }
}

function bytesOf(chunk: unknown): Buffer | undefined {
  if (typeof chunk === 'string') return chunk.length < WORTH_IT / 4 ? undefined : Buffer.from(chunk);
  return Buffer.isBuffer(chunk) ? chunk : undefined;
}

function isWorthIt(response: Response, body: Buffer): boolean {
  return (
    body.length >= WORTH_IT &&
    !response.hasHeader('content-encoding') &&
    COMPRESSIBLE.test(String(response.getHeader('content-type') ?? ''))
  );
}

function endCompressed(response: Response, body: Buffer, coding: Coding): void {
  CODINGS[coding](body).then(
    (compressed) => {
      response.setHeader('content-encoding', coding);
      response.setHeader('content-length', compressed.length);
      response.end(compressed);
    },
    () => response.end(body),
  );
}
