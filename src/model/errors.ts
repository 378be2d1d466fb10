/**
 * Stable codes of the errors that a caller may see. GraphQL carries them in `extensions.code`, REST in
 * the body's `code`; the HTTP status of a code is decided by REST and GraphQL, not here.
 */
export type ErrorCode =
  | 'INVALID_DOMAIN'
  | 'INVALID_PARAMETER'
  | 'UNAUTHENTICATED'
  | 'FORBIDDEN'
  | 'DOMAIN_NOT_FOUND'
  | 'NOT_FOUND'
  | 'METHOD_NOT_ALLOWED'
  | 'PAYLOAD_TOO_LARGE'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'HEADERS_TOO_LARGE'
  | 'QUERY_TOO_COMPLEX'
  | 'RATE_LIMITED'
  | 'UNAVAILABLE'
  | 'INTERNAL';

/** An error whose message is written for the caller: it may leave the process as it is. */
export class PublicError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** A text that is not a domain's name. The message has the text and the reason. */
export class InvalidDomainError extends PublicError {
  constructor(message: string) {
    super('INVALID_DOMAIN', message);
  }
}

/** A missing or invalid token: the same response for every reason. */
export class UnauthenticatedError extends PublicError {
  /** Whether a bearer token was sent. Without one, the response has no `error` (RFC 6750, section 3.1). */
  readonly credentialSent: boolean;
  /** Why the token is invalid, where that is known: for the log, never for the caller. */
  readonly reason: string | undefined;

  constructor(message: string, credentialSent: boolean, reason?: string) {
    super('UNAUTHENTICATED', message);
    this.credentialSent = credentialSent;
    this.reason = reason;
  }
}

/** A valid token without the scope that the operation needs. */
export class ForbiddenError extends PublicError {
  readonly scope: string;

  constructor(scope: string) {
    super('FORBIDDEN', `The token lacks the scope ${scope}.`);
    this.scope = scope;
  }
}

/** The client has reached a rate limit. */
export class RateLimitedError extends PublicError {
  /** Whole seconds, at least 1, until the limit is reset. */
  readonly retryAfter: number;

  /** @param complaint What the client did too often: a sentence. */
  constructor(retryAfter: number, complaint = 'Too many requests.') {
    super('RATE_LIMITED', `${complaint} Try again in ${retryAfter} s.`);
    this.retryAfter = retryAfter;
  }
}

/** The database is unavailable. */
export class UnavailableError extends PublicError {
  constructor(options?: ErrorOptions) {
    super('UNAVAILABLE', 'The database does not answer. Try again shortly.', options);
  }
}

/** Too many large requests or responses are in progress: there was no room for another in time. */
export class BusyError extends PublicError {
  /** Whole seconds, at least 1, until a retry makes sense. */
  readonly retryAfter: number;

  constructor(retryAfter: number, reason = 'Too many large histories are being answered.') {
    super('UNAVAILABLE', `${reason} Try again in ${retryAfter} s.`);
    this.retryAfter = retryAfter;
  }
}

/** The keys of the identity provider, needed to verify a token, are unavailable. */
export class ProviderUnavailableError extends PublicError {
  /** Whole seconds, at least 1, until a retry makes sense. */
  readonly retryAfter: number;

  constructor(retryAfter: number, options?: ErrorOptions) {
    super('UNAVAILABLE', 'The identity provider does not answer. Try again shortly.', options);
    this.retryAfter = retryAfter;
  }
}

/** An invalid line, record or value of an observation. The message is the reason. */
export class InvalidObservationError extends Error {
  override readonly name = 'InvalidObservationError';
}

/** A usage error of the program or of a setting. The message, one line, says what to write instead. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** A state of the machine or the database in which the program cannot continue. The message is one line for its user. */
export class OperationError extends Error {
  override readonly name: string = 'OperationError';
}

/** There is no database, and the command must not create one. */
export class NoDatabaseError extends OperationError {
  override readonly name = 'NoDatabaseError';
}

/** Octets that are not a DNS message, or not rdata of their type. The message is the reason. */
export class MalformedMessageError extends Error {
  override readonly name = 'MalformedMessageError';
}
