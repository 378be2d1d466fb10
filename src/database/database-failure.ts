/**
 * What a database that cannot be reached, does not answer, or has no room left comes as: codes of Prisma and
 * kinds of its driver adapter, SQLSTATEs (PostgreSQL, appendix A), and codes of the system's sockets.
 */
const FAILURE_CODES = new Set([
  ...['P1000', 'P1001', 'P1002', 'P1003', 'P1008', 'P1010', 'P1017', 'P2024', 'P2037'],
  ...['DatabaseNotReachable', 'ConnectionClosed', 'SocketTimeout', 'TooManyConnections'],
  ...['DatabaseDoesNotExist', 'DatabaseAccessDenied', 'AuthenticationFailed', 'TlsConnectionError'],
  // Our own bounds: Prisma gives an error of ours on with no more than its code.
  'UNAVAILABLE',
  // Read-only, dropped, not to be entered any more, cancelled, an error of its disk.
  ...['25006', '3D000', '28000', '28P01', '57014', '58030'],
  ...[
    'ECONNREFUSED',
    'ECONNRESET',
    'ENOTFOUND',
    'EAI_AGAIN',
    'EPIPE',
    'ETIMEDOUT',
    'EHOSTUNREACH',
    'ENETUNREACH',
  ],
]);

/** Connection exceptions, insufficient resources (full, too many connections), and shutdown or start. */
const FAILURE_CLASSES = /^(?:08\w{3}|53\w{3}|57P0\d)$/;

/**
 * Errors of pg and its pool that have no code, and of a Unix socket that is not there. Prisma puts lines of
 * its own before them.
 */
const FAILURE_MESSAGES = [
  /^Connection terminated/m,
  /^timeout exceeded when trying to connect/m,
  /^Query read timeout/m,
  /^Client (?:was closed|has encountered a connection error) and is not queryable/m,
  /^Cannot use a pool after calling end/m,
  /^The embedded database (?:has ended|cannot be reached)/m,
  /connect ENOENT/,
];

/** What a connection that was lost with a statement under way comes as: the statement may be repeated. */
const LOST_CODES = new Set(['ECONNRESET', 'EPIPE', '57P01', '57P02', '08003', '08006']);
const LOST_MESSAGES = [
  /^Connection terminated(?: unexpectedly)?$/,
  /^Client (?:was closed|has encountered a connection error) and is not queryable/,
];

/** Whether an error that came out of the database means that it is away, and not that we are wrong. */
export function isDatabaseFailure(error: unknown): boolean {
  return codesOf(error).some(isFailureCode) || hasMessage(error, FAILURE_MESSAGES);
}

/**
 * Whether an error of pg means that the connection was lost, while the database may well be there.
 *
 * @param error As pg gives it, and not as Prisma does.
 */
export function isLostConnection(error: unknown): boolean {
  return codesOf(error).some((code) => LOST_CODES.has(code)) || hasMessage(error, LOST_MESSAGES);
}

/** The codes that an error carries: its own, and the kind and SQLSTATE that Prisma has from its driver. */
export function codesOf(error: unknown): string[] {
  const driverError = property(property(property(error, 'meta'), 'driverAdapterError'), 'cause');
  const codes = [
    property(error, 'code'),
    property(driverError, 'kind'),
    property(driverError, 'originalCode'),
  ];
  return codes.filter((code) => typeof code === 'string');
}

function isFailureCode(code: string): boolean {
  return FAILURE_CODES.has(code) || FAILURE_CLASSES.test(code);
}

function hasMessage(error: unknown, patterns: readonly RegExp[]): boolean {
  return error instanceof Error && patterns.some((pattern) => pattern.test(error.message));
}

function property(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
}
