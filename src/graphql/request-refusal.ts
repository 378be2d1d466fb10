import type { Request } from 'express';
import type { HttpAnswer } from './http-answer.js';
import { mediaTypeFor, prefersPage } from './media-type.js';
import { isRecord } from './plain-request.js';
import { refusal } from './refusal.js';

/** The methods that GraphQL is asked by (RFC 9110, section 9). */
const ALLOWED = 'GET, HEAD, POST';

const HOW_TO_ASK =
  'Send {"query": "…", "variables": {…}} by POST with the header content-type: application/json';

/**
 * The answer to a request that is refused by its header section alone; undefined for any other.
 *
 * OPTIONS is answered as Express answers it: with the methods there are, and no permission for pages of
 * other sites.
 *
 * @param sandbox Whether a browser gets Apollo Sandbox.
 */
export function refusalOfHead(request: Request, sandbox: boolean): HttpAnswer | undefined {
  const refused = (status: number, code: string, message: string) =>
    refusal(status, code, message, { mediaType: mediaTypeFor(request) });
  switch (request.method) {
    case 'GET':
    case 'HEAD':
      return getsPage(request, sandbox) ? undefined : refusalOfAccept(request);
    case 'POST':
      return isJson(request.headers['content-type'])
        ? refusalOfAccept(request)
        : refused(415, 'UNSUPPORTED_MEDIA_TYPE', `The body is not declared as JSON. ${HOW_TO_ASK}.`);
    case 'OPTIONS':
      return { status: 200, headers: new Map([['allow', ALLOWED]]), body: '' };
    default: {
      const { headers, ...rest } = refused(405, 'METHOD_NOT_ALLOWED', `This is asked by ${ALLOWED} only.`);
      return { ...rest, headers: new Map([...headers, ['allow', ALLOWED]]) };
    }
  }
}

/** Nothing is executed whose answer the client does not take (RFC 9110, section 15.5.7). */
function refusalOfAccept(request: Request): HttpAnswer | undefined {
  if (mediaTypeFor(request) !== undefined) return undefined;
  const message =
    'The field Accept takes no response to GraphQL: send application/json or application/graphql-response+json in it.';
  return refusal(406, 'NOT_ACCEPTABLE', message);
}

/**
 * The answer to a request that asks nothing, and does not get the page; undefined for any other.
 *
 * @param request Its body is read.
 * @param sandbox Whether a browser gets Apollo Sandbox.
 */
export function refusalOfNothing(request: Request, sandbox: boolean): HttpAnswer | undefined {
  const refused = (message: string) =>
    refusal(400, 'BAD_REQUEST', message, { mediaType: mediaTypeFor(request) });
  if (request.method === 'POST') {
    const reason = reasonAgainst(request.body);
    return reason === undefined ? undefined : refused(`${reason} ${HOW_TO_ASK}.`);
  }
  if (request.query['query'] || request.query['extensions']) return undefined;
  const page = sandbox ? ', or open this address in a browser' : '';
  return refused(`The request has no query. ${HOW_TO_ASK}${page}.`);
}

function isJson(contentType = ''): boolean {
  return contentType.split(';', 1)[0]?.trim().toLowerCase() === 'application/json';
}

/** Why a body is refused that asks for nothing, or for several things at once. */
function reasonAgainst(body: unknown): string | undefined {
  if (Array.isArray(body)) return 'The body is a list: one request holds one operation.';
  return isRecord(body) && Object.keys(body).length > 0 ? undefined : 'The body has no query.';
}

/**
 * Whether a request is answered with the page, whatever else it asks for.
 *
 * @param sandbox Whether a browser gets Apollo Sandbox.
 */
export function getsPage(request: Request, sandbox: boolean): boolean {
  return sandbox && request.method !== 'POST' && prefersPage(request);
}
