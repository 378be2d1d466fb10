import { GraphQLError, type GraphQLFormattedError, Kind } from 'graphql';
import { isDatabaseFailure } from '../database/database-failure.js';
import {
  BusyError,
  type ErrorCode,
  ProviderUnavailableError,
  PublicError,
  RateLimitedError,
  UnavailableError,
} from '../model/errors.js';

/** What a client is told of an error. */
export interface MaskedError {
  readonly code: ErrorCode;
  readonly message: string;
  /** Whole seconds, at least 1, after which trying again makes sense. */
  readonly retryAfter?: number;
}

/** Takes what the client is not told, for the log. */
export type OnInternalError = (error: unknown) => void;

/** In characters: a message repeats what the client has sent. */
const LONGEST_MESSAGE = 1_000;

/** A database that restarts is back in about this many seconds. */
const UNAVAILABLE_RETRY_AFTER = 5;

/**
 * What a client is told of an error, whichever door it came through: a PublicError as it is, a database
 * that is away as UNAVAILABLE, and anything else as INTERNAL. The latter two go to `onInternalError`.
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
    return { ...told(thrown), retryAfter: thrown.retryAfter };
  }
  if (thrown instanceof PublicError && !(thrown instanceof UnavailableError)) return told(thrown);
  onInternalError(thrown);
  if (!isDatabaseFailure(thrown)) {
    return { code: 'INTERNAL', message: 'The server has failed at this request. The failure is recorded.' };
  }
  return { ...told(new UnavailableError()), retryAfter: UNAVAILABLE_RETRY_AFTER };
}

function told({ code, message }: PublicError): MaskedError {
  return { code, message };
}

/**
 * The error as a GraphQL response shows it: what is wrong with the request in the words and the code of
 * GraphQL and Apollo Server; all else masked, with the code, and `retryAfter` where there is one, in the
 * extensions.
 *
 * @param formatted The error as Apollo Server would show it.
 */
export function formatError(
  formatted: GraphQLFormattedError,
  error: unknown,
  onInternalError: OnInternalError,
): GraphQLFormattedError {
  const shown = formattedError(formatted, error, onInternalError);
  const { message } = shown;
  return message.length > LONGEST_MESSAGE
    ? { ...shown, message: `${message.slice(0, LONGEST_MESSAGE)}…` }
    : shown;
}

function formattedError(
  formatted: GraphQLFormattedError,
  error: unknown,
  onInternalError: OnInternalError,
): GraphQLFormattedError {
  const requestCode = codeOfRequestError(formatted, thrownError(error));
  if (formatted.extensions?.['validationErrorCode'] === 'INTROSPECTION_DISABLED') {
    return { ...formatted, message: 'This service does not show its schema: __schema and __type are off.' };
  }
  if (requestCode !== null) {
    return { ...formatted, extensions: { ...formatted.extensions, code: requestCode } };
  }
  const { message, ...extensions } = maskError(error, onInternalError);
  return { ...formatted, message, extensions };
}

/** What a resolver threw is at the end of the chain that GraphQL and Apollo Server wrap around it. */
function thrownError(error: unknown): unknown {
  let innermost = error;
  while (innermost instanceof GraphQLError && innermost.originalError !== undefined) {
    innermost = innermost.originalError;
  }
  return innermost;
}

/** The code of an error that the client's request is to blame for; null for any other error. */
function codeOfRequestError(formatted: GraphQLFormattedError, thrown: unknown): string | null {
  if (!(thrown instanceof GraphQLError)) return null;
  const code = formatted.extensions?.['code'];
  if (typeof code === 'string' && code !== 'INTERNAL_SERVER_ERROR') return code;
  if (isBadRequest(thrown.extensions['http'])) return 'BAD_REQUEST';
  // Two that come up only in the execution, and to which Apollo Server gives no code.
  switch (thrown.nodes?.[0]?.kind) {
    case Kind.VARIABLE:
      return 'BAD_USER_INPUT';
    case Kind.OPERATION_DEFINITION:
      return 'OPERATION_RESOLUTION_FAILURE';
    default:
      return null;
  }
}

/** What Apollo Server says of a persisted query that is not in order: a status, and no code. */
function isBadRequest(http: unknown): boolean {
  return typeof http === 'object' && http !== null && Reflect.get(http, 'status') === 400;
}
