/**
 * What a database that cannot be reached or does not answer comes as: codes of Prisma and kinds of its
 * driver adapter, SQLSTATEs (PostgreSQL, appendix A; class 08 besides), and codes of the system's sockets.
 */
const FAILURE_CODES = new Set([
  ...['P1001', 'P1002', 'P1008', 'P1017', 'P2024', 'P2037'],
  ...['DatabaseNotReachable', 'ConnectionClosed', 'SocketTimeout', 'TooManyConnections'],
  ...['57014', '57P01', '57P02', '57P03', '53300'],
  ...['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'EAI_AGAIN', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH'],
]);

/** Errors of pg and its pool that have no code, and of a Unix socket that is not there. */
const FAILURE_MESSAGES = [
  /^Connection terminated/,
  /^timeout exceeded when trying to connect/,
  /^Query read timeout/,
  /^Client (?:was closed|has encountered a connection error) and is not queryable/,
  /^Cannot use a pool after calling end/,
  /connect ENOENT/,
];

/** Whether an error that came out of a loader means that the database is away, and not that we are wrong. */
export function isDatabaseFailure(error: unknown): boolean {
  const driverError = property(property(property(error, 'meta'), 'driverAdapterError'), 'cause');
  const codes = [
    property(error, 'code'),
    property(driverError, 'kind'),
    property(driverError, 'originalCode'),
  ];
  if (codes.some((code) => typeof code === 'string' && isFailureCode(code))) return true;
  return error instanceof Error && FAILURE_MESSAGES.some((pattern) => pattern.test(error.message));
}

function isFailureCode(code: string): boolean {
  return FAILURE_CODES.has(code) || /^08\w{3}$/.test(code);
}

function property(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
}
