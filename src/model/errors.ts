/**
 * Stable codes of the errors that a caller may see. GraphQL carries them in `extensions.code`, REST in
 * the body's `code`; what HTTP status a code has is decided once in each door, not here.
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

/** A domain's name that no domain can have. The message says which name and why. */
export class InvalidDomainError extends PublicError {
  constructor(message: string) {
    super('INVALID_DOMAIN', message);
  }
}

/** No token where one is needed, or one that is not valid: the same answer for every reason. */
export class UnauthenticatedError extends PublicError {
  /** Whether a bearer token was sent: no other scheme is a credential here (RFC 6750, section 3.1: no `error`). */
  readonly credentialSent: boolean;
  /** What is wrong with the token, where that is known: for the log, never for the caller. */
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

/** The client's budget of requests is used up. */
export class RateLimitedError extends PublicError {
  /** Whole seconds, at least 1, until the next request is answered. */
  readonly retryAfter: number;

  /** @param complaint What there was too much of: a sentence. */
  constructor(retryAfter: number, complaint = 'Too many requests.') {
    super('RATE_LIMITED', `${complaint} Try again in ${retryAfter} s.`);
    this.retryAfter = retryAfter;
  }
}

/** The database does not answer. */
export class UnavailableError extends PublicError {
  constructor(options?: ErrorOptions) {
    super('UNAVAILABLE', 'The database does not answer. Try again shortly.', options);
  }
}

/** So many large answers are being made that there was no room for another in time. */
export class BusyError extends PublicError {
  /** Whole seconds, at least 1, until asking again makes sense. */
  readonly retryAfter: number;

  constructor(retryAfter: number) {
    super('UNAVAILABLE', `Too many large histories are being answered. Try again in ${retryAfter} s.`);
    this.retryAfter = retryAfter;
  }
}

/** The identity provider does not give the keys by which a token could be verified. */
export class ProviderUnavailableError extends PublicError {
  /** Whole seconds, at least 1, until asking it again makes sense. */
  readonly retryAfter: number;

  constructor(retryAfter: number, options?: ErrorOptions) {
    super('UNAVAILABLE', 'The identity provider does not answer. Try again shortly.', options);
    this.retryAfter = retryAfter;
  }
}

/** A line, a record or a value of an observation that cannot be taken. The message is the reason. */
export class InvalidObservationError extends Error {
  override readonly name = 'InvalidObservationError';
}

/** A wrong use of the program or of a setting. The message, one line, says what to write instead. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** A state of the machine or the database in which the program cannot go on. One line for its user. */
export class OperationError extends Error {
  override readonly name: string = 'OperationError';
}

/** There is no database, and none may be made. */
export class NoDatabaseError extends OperationError {
  override readonly name = 'NoDatabaseError';
}

/** Octets that are no DNS message, or no rdata of their type. The message is the reason. */
export class MalformedMessageError extends Error {
  override readonly name = 'MalformedMessageError';
}
