/** Stable: GraphQL's `extensions.code`, and `code` in REST's bodies. */
export type ErrorCode =
  | 'INVALID_DOMAIN'
  | 'INVALID_PARAMETER'
  | 'INVALID_CURSOR'
  | 'UNAUTHENTICATED'
  | 'FORBIDDEN'
  | 'DOMAIN_NOT_FOUND'
  | 'NOT_FOUND'
  | 'METHOD_NOT_ALLOWED'
  | 'PAYLOAD_TOO_LARGE'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'HEADERS_TOO_LARGE'
  | 'QUERY_TOO_COMPLEX'
  | 'TOO_LARGE'
  | 'RATE_LIMITED'
  | 'UNAVAILABLE'
  | 'INTERNAL';

/** Its message is written for the caller: it may leave the process as it is. It has no stack trace. */
export class PublicError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    // A request with 200 errors would wait for as many traces, which graphql-js formats.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message, options);
    Error.stackTraceLimit = stackTraceLimit;
    this.name = new.target.name;
    this.code = code;
  }
}

export class InvalidDomainError extends PublicError {
  constructor(message: string) {
    super('INVALID_DOMAIN', message);
  }
}

export class UnauthenticatedError extends PublicError {
  /** Whether a bearer token was sent. Without one, the response has no `error` (RFC 6750, section 3.1). */
  readonly credentialSent: boolean;
  /** Why the token is invalid: for the log, never for the caller. */
  readonly reason: string | undefined;

  constructor(message: string, credentialSent: boolean, reason?: string) {
    super('UNAUTHENTICATED', message);
    this.credentialSent = credentialSent;
    this.reason = reason;
  }
}

export class ForbiddenError extends PublicError {
  readonly scope: string;

  constructor(scope: string) {
    super('FORBIDDEN', `The token lacks the scope ${scope}.`);
    this.scope = scope;
  }
}

export class TemporaryError extends PublicError {
  /** Whole seconds, at least 1, until a retry makes sense. */
  readonly retryAfter: number;

  constructor(code: ErrorCode, retryAfter: number, message: string, options?: ErrorOptions) {
    super(code, message, options);
    this.retryAfter = retryAfter;
  }
}

export class RateLimitedError extends TemporaryError {
  constructor(retryAfter: number, complaint = 'Too many requests.') {
    super('RATE_LIMITED', retryAfter, `${complaint} Try again in ${retryAfter} s.`);
  }
}

export class ClientGoneError extends PublicError {
  constructor() {
    super('UNAVAILABLE', 'The client has gone.');
  }
}

export class UnavailableError extends TemporaryError {
  constructor(message = 'The database does not answer. Try again shortly.') {
    // A database that restarts is back in about five seconds.
    super('UNAVAILABLE', 5, message);
  }
}

export class BusyError extends TemporaryError {
  constructor(retryAfter: number, reason: string) {
    super('UNAVAILABLE', retryAfter, `${reason} Try again in ${retryAfter} s.`);
  }
}

export class ProviderUnavailableError extends TemporaryError {
  constructor(retryAfter: number, options?: ErrorOptions) {
    super('UNAVAILABLE', retryAfter, 'The identity provider does not answer. Try again shortly.', options);
  }
}

/** Such as `ENOENT`; empty where it has none. */
export function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** Of a name with several addresses, the AggregateError has an error for each and no message of its own. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}

/** @param basePath '' or like `/dms`. */
export function nothingAtPath(basePath: string): PublicError {
  const next = `${basePath}/api/v1/openapi.json lists the paths of REST, and ${basePath}/graphql is GraphQL`;
  return new PublicError('NOT_FOUND', `There is nothing at this path: ${next}.`);
}

export function methodNotAllowed(methods: string): string {
  return `Method not allowed: use ${methods}.`;
}

/** For a line, record or value of an observation. The message is the reason. */
export class InvalidObservationError extends Error {
  override readonly name: string = 'InvalidObservationError';
}

export function invalidValue(reason: string): InvalidObservationError {
  return new InvalidObservationError(reason);
}

/** Octets that are not a DNS message, or not rdata of their type. The message is the reason. */
export class MalformedMessageError extends InvalidObservationError {
  override readonly name = 'MalformedMessageError';
}

export function invalidParameter(message: string): PublicError {
  return new PublicError('INVALID_PARAMETER', message);
}

/** The result of `read`, whose InvalidObservationErrors become PublicErrors with INVALID_PARAMETER. */
export function readArgument<Result>(argument: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (error instanceof InvalidObservationError) throw invalidParameter(`${argument}: ${error.message}`);
    throw error;
  }
}

/** Of the program or of a setting. The message, one line, says what to write instead. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The machine or the database is in a state in which the program cannot continue. The message is one line. */
export class OperationError extends Error {
  override readonly name: string = 'OperationError';
}

/** The command must not create the database that there is not. */
export class NoDatabaseError extends OperationError {
  override readonly name = 'NoDatabaseError';
}
