import { GraphQLError, type GraphQLFormattedError } from 'graphql';
import { isDatabaseFailure, isOfChangedTables } from '../database/database-failure.js';
import { type ErrorCode, PublicError, TemporaryError, UnavailableError } from '../model/errors.js';
import { adviceOnTime } from '../model/what-is-new.js';

export type OnInternalError = (error: unknown) => void;

/** In characters: a message repeats what the client has sent. */
const MAX_MESSAGE = 1_000;

const TOO_DEEP = new PublicError(
  'QUERY_TOO_COMPLEX',
  'The document is nested too deep. Ask for less in one request.',
);
const INTERNAL = new PublicError('INTERNAL', "Internal error. It is in the server's log.");

const CHANGED_TABLES =
  'The tables of the database have been changed since this process was started. It has to be started again.';

/**
 * What a client is shown of an error, by GraphQL and by REST: a PublicError as it is, an unreachable database
 * as UNAVAILABLE, and anything else as INTERNAL. The latter two go to `onInternalError`, for the log.
 */
export function maskError(error: unknown, onInternalError: OnInternalError) {
  const thrown = thrownError(error);
  if (thrown instanceof PublicError && !(thrown instanceof UnavailableError)) return shown(thrown);
  onInternalError(thrown);
  if (isOfChangedTables(thrown)) return shown(new UnavailableError(CHANGED_TABLES));
  return shown(isDatabaseFailure(thrown) ? new UnavailableError() : INTERNAL);
}

/** A document may be nested too deep for the stack: what parses, validates, measures or executes it throws. */
function maskOperationError(error: unknown, onInternalError: OnInternalError = () => {}) {
  return isTooDeep(error) ? shown(TOO_DEEP) : maskError(error, onInternalError);
}

function shown(error: PublicError) {
  const { code, message } = error;
  return { code, message, ...(error instanceof TemporaryError && { retryAfter: error.retryAfter }) };
}

/** Errors of the request have the message and code of GraphQL and Apollo Server; all others are masked. */
export function formatError(formatted: GraphQLFormattedError, error: unknown): GraphQLFormattedError {
  const code = codeOfRequestError(formatted, error);
  const [, argument, field] = UNKNOWN_CONDITION.exec(formatted.message) ?? [];
  const advised = formatted.message + adviceOnTime(argument ?? field ?? '');
  const ofRequest = { ...formatted.extensions, code, message: advised };
  const { message, ...extensions } = code === null ? maskOperationError(error) : ofRequest;
  const isLong = message.length > MAX_MESSAGE;
  return { ...formatted, message: isLong ? `${message.slice(0, MAX_MESSAGE)}…` : message, extensions };
}

/** What is thrown for a request of which nothing is executed: with the status of its response. */
export function shownError(error: unknown, onInternalError?: OnInternalError): GraphQLError {
  const { message, code } = maskOperationError(error, onInternalError);
  const originalError = error instanceof Error ? error : null;
  const [status] = STATUS_OF_CODE[code];
  return new GraphQLError(message, { originalError, extensions: { http: { status } } });
}

/** The status of each code, and its phrase, which is the title where `type` is about:blank. */
export const STATUS_OF_CODE: Readonly<Record<ErrorCode, readonly [status: number, title: string]>> = {
  INVALID_DOMAIN: [400, 'Bad Request'],
  INVALID_PARAMETER: [400, 'Bad Request'],
  INVALID_CURSOR: [400, 'Bad Request'],
  TOO_LARGE: [400, 'Bad Request'],
  QUERY_TOO_COMPLEX: [400, 'Bad Request'],
  UNAUTHENTICATED: [401, 'Unauthorized'],
  FORBIDDEN: [403, 'Forbidden'],
  DOMAIN_NOT_FOUND: [404, 'Not Found'],
  NOT_FOUND: [404, 'Not Found'],
  METHOD_NOT_ALLOWED: [405, 'Method Not Allowed'],
  PAYLOAD_TOO_LARGE: [413, 'Content Too Large'],
  UNSUPPORTED_MEDIA_TYPE: [415, 'Unsupported Media Type'],
  RATE_LIMITED: [429, 'Too Many Requests'],
  HEADERS_TOO_LARGE: [431, 'Request Header Fields Too Large'],
  INTERNAL: [500, 'Internal Server Error'],
  UNAVAILABLE: [503, 'Service Unavailable'],
};

/** Whether an error is the client's fault, as GraphQL or Apollo Server has found it: it goes to no log. */
export function isOfRequest(error: GraphQLError): boolean {
  return codeOfRequestError(error.toJSON(), error) !== null || isTooDeep(error);
}

/** A condition across domains that graphql-js does not find in the schema, at the end of the path to it. */
const UNKNOWN_CONDITION =
  /Unknown argument "(\w+)" on field "(?:Query|Subscription)\.|Field "(\w+)" is not defined by .*Filter"/;

function isTooDeep(error: unknown): boolean {
  const thrown = thrownError(error);
  return thrown instanceof RangeError && thrown.message.includes('call stack');
}

/** What a resolver threw is at the end of the chain that GraphQL and Apollo Server wrap around it. */
function thrownError(error: unknown): unknown {
  let innermost = error;
  while (innermost instanceof GraphQLError && innermost.originalError !== undefined) {
    innermost = innermost.originalError;
  }
  return innermost;
}

/** The code of an error that is the client's fault; null for any other error. */
function codeOfRequestError(formatted: GraphQLFormattedError, error: unknown): string | null {
  const thrown = thrownError(error);
  const code = formatted.extensions?.['code'];
  if (!(thrown instanceof GraphQLError)) return null;
  // What graphql-js says of more tokens than its parser reads.
  if (formatted.message.startsWith('Syntax Error: Document contains more')) return 'QUERY_TOO_COMPLEX';
  if (typeof code === 'string' && code !== 'INTERNAL_SERVER_ERROR') return code;
  if (Object(thrown.extensions['http']).status === 400) return 'BAD_REQUEST';
  // Only execution finds what is wrong with the value of a variable; of 50 it gives no places.
  const isOfVariable = error instanceof GraphQLError && error.nodes?.[0]?.kind.startsWith('Variable');
  const isOfMany = formatted.message.startsWith('Too many errors processing variables');
  return isOfVariable || isOfMany ? 'BAD_USER_INPUT' : null;
}

/** The seconds for Retry-After (RFC 9110, section 10.2.3): the longest of the errors' `retryAfter`. */
export function retryAfterOf(errors: readonly GraphQLFormattedError[] = []): number | undefined {
  const seconds = errors.map(({ extensions }) => Number(extensions?.['retryAfter'] ?? 0));
  return Math.max(0, ...seconds) || undefined;
}
