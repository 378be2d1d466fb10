import { HeaderMap } from '@apollo/server';
import { GraphQLError, type GraphQLFormattedError, Kind } from 'graphql';
import { isDatabaseFailure, isOfChangedTables } from '../database/database-failure.js';
import {
  BusyError,
  type ErrorCode,
  ProviderUnavailableError,
  PublicError,
  RateLimitedError,
  UnavailableError,
} from '../model/errors.js';
import { isJsonObject } from '../model/json-values.js';
import { adviceOnTime } from '../model/what-is-new.js';

/** What a client is shown of an error. */
interface MaskedError {
  readonly code: ErrorCode;
  readonly message: string;
  /** Whole seconds, at least 1, after which trying again makes sense. */
  readonly retryAfter?: number;
}

/** Takes errors that clients are not shown, for the log. */
export type OnInternalError = (error: unknown) => void;

/** In characters: a message repeats what the client has sent. */
const LONGEST_MESSAGE = 1_000;

/** A database that restarts is back in about this many seconds. */
const UNAVAILABLE_RETRY_AFTER = 5;

const CHANGED_TABLES =
  'The tables of the database have been changed since this process was started. It has to be started again.';

/**
 * What a client is shown of an error, by GraphQL and by REST: a PublicError as it is, an unreachable database as
 * UNAVAILABLE, and anything else as INTERNAL. The latter two go to `onInternalError`.
 *
 * @param error As it was thrown, or as an execution's result holds it.
 */
export function maskError(error: unknown, onInternalError: OnInternalError): MaskedError {
  const thrown = thrownError(error);
  if (
    thrown instanceof RateLimitedError ||
    thrown instanceof ProviderUnavailableError ||
    thrown instanceof BusyError
  ) {
    return { ...shown(thrown), retryAfter: thrown.retryAfter };
  }
  if (thrown instanceof PublicError && !(thrown instanceof UnavailableError)) return shown(thrown);
  onInternalError(thrown);
  if (isOfChangedTables(thrown)) {
    return { code: 'UNAVAILABLE', message: CHANGED_TABLES, retryAfter: UNAVAILABLE_RETRY_AFTER };
  }
  if (!isDatabaseFailure(thrown)) {
    return { code: 'INTERNAL', message: "Internal error. It is in the server's log." };
  }
  return { ...shown(new UnavailableError()), retryAfter: UNAVAILABLE_RETRY_AFTER };
}

function shown({ code, message }: PublicError): MaskedError {
  return { code, message };
}

/**
 * The error as a GraphQL response shows it: errors of the request with the message and code of GraphQL and Apollo
 * Server; all others masked, with the code, and `retryAfter` where there is one, in the extensions.
 *
 * @param formatted The error as Apollo Server would show it.
 */
export function formatError(formatted: GraphQLFormattedError, error: unknown): GraphQLFormattedError {
  const result = formattedError(formatted, error);
  return { ...result, message: shortened(result.message) };
}

/** What is thrown for a request of which nothing is executed: with the status of its response. */
export function shownError(error: unknown): GraphQLError {
  const { message, code, retryAfter } = maskError(error, () => {});
  const http = { status: STATUS[code] ?? 500, headers: new HeaderMap() };
  const originalError = error instanceof Error ? error : null;
  const extensions = { code, ...(retryAfter !== undefined && { retryAfter }), http };
  return new GraphQLError(message, { originalError, extensions });
}

const STATUS: Partial<Record<ErrorCode, number>> = {
  QUERY_TOO_COMPLEX: 400,
  INVALID_PARAMETER: 400,
  INVALID_CURSOR: 400,
  RATE_LIMITED: 429,
  UNAVAILABLE: 503,
};

/** A message that is not too long. */
export function shortened(message: string): string {
  return message.length > LONGEST_MESSAGE ? `${message.slice(0, LONGEST_MESSAGE)}…` : message;
}

function formattedError(formatted: GraphQLFormattedError, error: unknown): GraphQLFormattedError {
  const requestCode = codeOfRequestError(formatted, error);
  if (isTooDeep(formatted, error)) {
    return { message: TOO_DEEP, extensions: { code: 'QUERY_TOO_COMPLEX' } };
  }
  if (requestCode !== null) {
    const message = advised(formatted.message);
    return { ...formatted, message, extensions: { ...formatted.extensions, code: requestCode } };
  }
  const { message, ...extensions } = maskError(error, () => {});
  return { ...formatted, message, extensions };
}

/** Whether an error is the client's fault, as GraphQL or Apollo Server has found it: it goes to no log. */
export function isOfRequest(error: GraphQLError): boolean {
  const hasCode = thrownError(error) instanceof GraphQLError && error.extensions['code'] !== undefined;
  return hasCode || isTooDeep(error.toJSON(), error) || codeOfRequestError(error.toJSON(), error) !== null;
}

/** A condition across domains that graphql-js does not find in the schema, at the end of the path to it. */
const UNKNOWN_CONDITION =
  /Unknown argument "(\w+)" on field "(?:Query|Subscription)\.|Field "(\w+)" is not defined by type "\w+Filter"/;

/** The message of graphql-js, with what finds what is new where that was asked for. */
export function advised(message: string): string {
  const [, argument, field] = UNKNOWN_CONDITION.exec(message) ?? [];
  return message + adviceOnTime(argument ?? field ?? '');
}

/** What a resolver threw is at the end of the chain that GraphQL and Apollo Server wrap around it. */
function thrownError(error: unknown): unknown {
  let innermost = error;
  while (innermost instanceof GraphQLError && innermost.originalError !== undefined) {
    innermost = innermost.originalError;
  }
  return innermost;
}

/** What graphql-js says of a document with more tokens than its parser reads. */
const TOO_MANY_TOKENS = 'Syntax Error: Document contains more';

export const TOO_DEEP = 'The document is nested too deep. Ask for less in one request.';

/** Whether the parser had no more room on the stack. */
function isTooDeep({ extensions }: GraphQLFormattedError, error: unknown): boolean {
  return extensions?.['code'] === 'GRAPHQL_PARSE_FAILED' && thrownError(error) instanceof RangeError;
}

/** What it says at the end of the errors of variables. */
const TOO_MANY_VARIABLES = 'Too many errors processing variables';

/** The code of an error that is the client's fault; null for any other error. */
function codeOfRequestError(formatted: GraphQLFormattedError, error: unknown): string | null {
  const thrown = thrownError(error);
  if (!(thrown instanceof GraphQLError)) return null;
  const code = formatted.extensions?.['code'];
  if (formatted.message.startsWith(TOO_MANY_TOKENS)) return 'QUERY_TOO_COMPLEX';
  if (typeof code === 'string' && code !== 'INTERNAL_SERVER_ERROR') return code;
  if (isJsonObject(thrown.extensions['http']) && thrown.extensions['http']['status'] === 400)
    return 'BAD_REQUEST';
  if (formatted.message.startsWith(TOO_MANY_VARIABLES)) return 'BAD_USER_INPUT';
  // Two that only execution finds, and to which graphql-js gives no code.
  switch (error instanceof GraphQLError ? error.nodes?.[0]?.kind : undefined) {
    case Kind.VARIABLE:
    case Kind.VARIABLE_DEFINITION:
      return 'BAD_USER_INPUT';
    case Kind.OPERATION_DEFINITION:
      return 'OPERATION_RESOLUTION_FAILURE';
    default:
      return null;
  }
}

/** The seconds for Retry-After (RFC 9110, section 10.2.3): the longest of the errors' `retryAfter`. */
export function retryAfterOf(errors: readonly GraphQLFormattedError[] = []): number | undefined {
  const seconds = errors.flatMap(({ extensions }) => {
    const retryAfter = extensions?.['retryAfter'];
    return typeof retryAfter === 'number' ? [retryAfter] : [];
  });
  return seconds.length === 0 ? undefined : Math.max(...seconds);
}
