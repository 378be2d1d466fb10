import { OperationError } from '../model/errors.js';

/**
 * The codes of a database that cannot be reached, does not respond, or has no room left: codes of Prisma and kinds
 * of its driver adapter, SQLSTATEs (PostgreSQL, appendix A), and codes of the system's sockets.
 */
const FAILURE_CODES = new Set([
  ...['P1000', 'P1001', 'P1002', 'P1003', 'P1008', 'P1010', 'P1017', 'P2024', 'P2037'],
  ...['DatabaseNotReachable', 'ConnectionClosed', 'SocketTimeout', 'TooManyConnections'],
  ...['DatabaseDoesNotExist', 'DatabaseAccessDenied', 'AuthenticationFailed', 'TlsConnectionError'],
  // Our own limits: of our errors, Prisma passes on only the code.
  'UNAVAILABLE',
  // Read-only, dropped, login revoked, cancelled, I/O error.
  ...['25006', '3D000', '28000', '28P01', '57014', '58030'],
  ...['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'EAI_AGAIN'],
  ...['EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH'],
]);

/** Connection exceptions, insufficient resources (full, too many connections), and shutdown or startup. */
const FAILURE_CLASSES = /^(?:08\w{3}|53\w{3}|57P0\d)$/;

/**
 * Errors of pg and its pool that have no code, and of a Unix socket that does not exist. Prisma puts lines of its
 * own before them.
 */
const FAILURE_MESSAGE =
  /^(?:Connection terminated|timeout exceeded when trying to connect|Query read timeout|Cannot use a pool after calling end|Client (?:was closed|has encountered a connection error) and is not queryable|The embedded database (?:has ended|cannot be reached))|connect ENOENT|database ".*" is not currently accepting connections/m;

/** The errors of a connection that was lost while a statement was running: the statement may be repeated. */
const LOST_CODES = new Set(['ECONNRESET', 'EPIPE', '57P01', '57P02', '08003', '08006']);
const LOST_MESSAGE =
  /^(?:Connection terminated(?: unexpectedly)?$|Client (?:was closed|has encountered a connection error) and is not queryable)/;

/** PostgreSQL, appendix A: deadlock_detected. */
const DEADLOCK = '40P01';

/** Whether an error from the database means that it is unavailable, and not that a statement is wrong. */
export function isDatabaseFailure(error: unknown): boolean {
  const isFailure = (code: string) => FAILURE_CODES.has(code) || FAILURE_CLASSES.test(code);
  return codesOf(error).some(isFailure) || (error instanceof Error && FAILURE_MESSAGE.test(error.message));
}

/** Whether nothing takes writes there: the server is not running, or is starting or shutting down (57P01 to 57P03). */
export function isRefusal(error: unknown): boolean {
  const isRefused = (code: string) =>
    ['ECONNREFUSED', 'ENOENT', 'DatabaseNotReachable'].includes(code) || /^57P0[123]$/.test(code);
  return codesOf(error).some(isRefused);
}

/** Whether an error of pg (not of Prisma) says only that the connection was lost. */
export function isLost(error: unknown): boolean {
  const hasCode = codesOf(error).some((code) => LOST_CODES.has(code));
  return hasCode || (error instanceof Error && LOST_MESSAGE.test(error.message));
}

/**
 * Whether an error of pg (not of Prisma) means that a SELECT may succeed at once: the connection was lost, and the database itself may be
 * available; or the statement was the victim of a deadlock, with a migration, say.
 */
export function isPassing(error: unknown): boolean {
  return isLost(error) || codesOf(error).includes(DEADLOCK);
}

/**
 * Whether the database refuses a statement as one that it does not support (PostgreSQL, appendix A: feature_not_supported). This program makes
 * none for the tables that it found when it was started: they have been distributed over a Citus cluster since, or migrated.
 */
export function isOfChangedTables(error: unknown): boolean {
  return codesOf(error).includes('0A000');
}

/** Whether a table is not there (PostgreSQL, appendix A: undefined_table): the database is not migrated yet. */
export function isMissingTable(error: unknown): boolean {
  return codesOf(error).includes('42P01');
}

/** The codes of an error: its own, and the kind and SQLSTATE that Prisma has from its driver. */
export function codesOf(error: unknown): string[] {
  const driverError = property(property(property(error, 'meta'), 'driverAdapterError'), 'cause');
  const codes = [
    property(error, 'code'),
    property(driverError, 'kind'),
    property(driverError, 'originalCode'),
  ];
  return codes.filter((code) => typeof code === 'string');
}

function property(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
}

/** Explanations of the failures that an operator has to fix. */
const EXPLANATIONS: readonly (readonly [codes: RegExp, text: string])[] = [
  [
    /^25006$/,
    'The database is read-only, so nothing can be written to it now: it may be a replica, or failing over to another server. Set DATABASE_URL to one that can be written to, or wait',
  ],
  [/^53100$/, 'The disk of the database is full: make room on it, and start again'],
  [
    /^58030$/,
    'The database cannot reach its data: its disk fails, or a node of its cluster is down. Mend what the message names, and start again',
  ],
  [
    /^(?:53300|TooManyConnections)$/,
    'The database has no connection left: end other programs that use it, or raise its max_connections',
  ],
];

/**
 * Explains the error of a database that is unavailable, full or read-only: what is wrong and what to do, in one line
 * with the driver's own message at its end. Null for any other error.
 */
export function explainFailure(error: unknown): string | null {
  if (!(error instanceof Error) || error instanceof OperationError || !isDatabaseFailure(error)) return null;
  const codes = codesOf(error);
  const [, text = 'The database went away or does not respond: start again when it does'] =
    EXPLANATIONS.find(([pattern]) => codes.some((code) => pattern.test(code))) ?? [];
  // Prisma puts lines of its own before the database's message.
  const line = error.message.trim().split('\n').at(-1)?.trim() ?? '';
  return `${text} (${(line || error.name).replace(/\.$/, '')}).`;
}
