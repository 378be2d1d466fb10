import type { IncomingMessage, ServerResponse } from 'node:http';
import Negotiator from 'negotiator';
import { maskError, type OnInternalError, STATUS_OF_CODE } from '../../graphql/format-error.js';
import { ForbiddenError, methodNotAllowed, PublicError, UnauthenticatedError } from '../../model/errors.js';

const REALM = 'Bearer realm="Domain Metadata Service"';
/** For readers of feeds, and for no others: browsers would ask for a password (RFC 7617, section 2). */
const BASIC = ', Basic realm="Domain Metadata Service", charset="UTF-8"';

/** The members of RFC 9457, a stable code, and header fields. For a feed, a token may be sent as a password. */
export function problemOf(error: unknown, onInternalError: OnInternalError, isFeed = false) {
  const { code, message, retryAfter } = maskError(error, onInternalError);
  const [status, title] = STATUS_OF_CODE[code];
  const headers = challengeOf(error, isFeed);
  if (retryAfter !== undefined) headers['retry-after'] = `${retryAfter}`;
  return { body: { type: 'about:blank', title, status, detail: message, code }, headers };
}

/** The authentication that the operation needs (RFC 6750, section 3). */
function challengeOf(error: unknown, isFeed: boolean): Record<string, string> {
  if (error instanceof UnauthenticatedError) {
    const bearer = error.credentialSent ? `${REALM}, error="invalid_token"` : REALM;
    return { 'www-authenticate': isFeed ? bearer + BASIC : bearer };
  }
  if (error instanceof ForbiddenError) {
    return { 'www-authenticate': `${REALM}, error="insufficient_scope", scope="${error.scope}"` };
  }
  return {};
}

/** Sends a problem, as application/problem+json (RFC 9457) where the client names that, else as JSON. */
export function sendProblem(
  request: IncomingMessage,
  response: ServerResponse,
  { body, headers }: ReturnType<typeof problemOf>,
): void {
  const accept = request.headers.accept?.toLowerCase() ?? '';
  const isNamed = new Negotiator({ headers: { accept } }).mediaTypes().includes('application/problem+json');
  const type = isNamed ? 'application/problem+json' : 'application/json';
  varyByAccept(response);
  const fields = { ...headers, 'content-type': `${type}; charset=utf-8` };
  sendBody(response, body.status, fields, JSON.stringify(body));
}

/** Sends a whole body. Node.js would leave its length out of the response to HEAD. */
export function sendBody(
  response: ServerResponse,
  status: number,
  fields: Readonly<Record<string, string>>,
  body: string | Buffer,
): void {
  response.writeHead(status, { ...fields, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

export function varyByAccept(response: ServerResponse): void {
  const others = response.getHeader('vary') ?? '';
  if (!/^Accept(?:,|$)/.test(String(others)))
    response.setHeader('vary', others ? `Accept, ${others}` : 'Accept');
}

/** Names GET and HEAD in Allow (RFC 9110, section 15.5.6). @throws PublicError METHOD_NOT_ALLOWED */
export function requireGetOrHead({ method }: IncomingMessage, response: ServerResponse): void {
  if (method === 'GET' || method === 'HEAD') return;
  response.setHeader('allow', 'GET, HEAD');
  throw new PublicError('METHOD_NOT_ALLOWED', methodNotAllowed('GET or HEAD'));
}
