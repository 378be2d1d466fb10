import { createHash } from 'node:crypto';
import type { Handler, Request, Response } from 'express';
import { requireGetOrHead } from '../../rest/v1/problem.js';

/** What is answered to everybody, until the program ends. */
export interface FixedAnswer {
  readonly mediaType: string;
  readonly body: string;
  /** Further header fields. */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Answers GET and HEAD with a body that never changes. A client may keep it, and asks each time whether it
 * is still the same.
 */
export function fixedAnswer({ mediaType, body, headers = {} }: FixedAnswer): Handler {
  const bytes = Buffer.from(body);
  const tag = opaqueTagOf(bytes);
  return (request, response) => {
    requireGetOrHead(request, response);
    response.set(headers);
    if (sendIfKept(request, response, tag)) return;
    response.writeHead(200, { 'content-type': mediaType, 'content-length': bytes.length }).end(bytes);
  };
}

/** The part of an entity tag that tells one body from another, in its quotes (RFC 9110, section 8.8.3). */
export function opaqueTagOf(bytes: Buffer): string {
  return `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
}

/**
 * Sets what a client needs to keep the answer, and answers 304 to one that has it already. No other
 * precondition than If-None-Match is looked at: nothing here has a date, or is written by clients.
 *
 * @param tag of opaqueTagOf().
 * @returns whether it has answered.
 */
export function sendIfKept(request: Request, response: Response, tag: string): boolean {
  // Weak: one tag stands for every content coding (RFC 9110, section 8.8.3.3).
  response.set({ 'cache-control': 'no-cache', etag: `W/${tag}` });
  if (!names(request.headers['if-none-match'], tag)) return false;
  response.writeHead(304).end();
  return true;
}

/**
 * Whether an If-None-Match field names a validator (RFC 9110, section 13.1.2). Express' own look at it takes
 * the `Cache-Control: no-cache` of a request, which fetch() adds, for the wish to have the body again.
 */
function names(field: string | undefined, tag: string): boolean {
  if (field === undefined) return false;
  return field.split(',').some((named) => named.trim() === '*' || named.trim().replace(/^W\//, '') === tag);
}
