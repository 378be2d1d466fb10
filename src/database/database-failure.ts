import { OperationError } from '../model/errors.js';

/**
 * Codes of Prisma and kinds of its driver adapter, SQLSTATEs (PostgreSQL, appendix A), codes of the system's
 * sockets, and lines of messages of pg and its pool, which have no code.
 */
const LOST = [
  // A shutdown.
  /^57P0[12]$/,
  /^(?:ECONNRESET|EPIPE|0800[36])$/,
  /^Connection terminated(?: unexpectedly)?$/,
  /^Client (?:was closed|has encountered a connection error) and is not queryable/,
  // What Citus says of a node's connection.
  /^(?:failed to (?:connect|send query) to |connection lost|FATAL: |server closed the connection)/,
];
/** Without limits of time, which another server would meet again. */
const AWAY = [
  ...LOST,
  // Read-only, an input or output error; other connection exceptions, and insufficient resources; dropped,
  // login revoked, starting.
  /^(?:25006|58030|08\w{3}|53[0-3]\w{2}|57P0\d|3D000|28000|28P01)$/,
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)$/,
  /^(?:Connection terminated|Cannot use a pool after calling end)/,
  /^The embedded database has ended/,
  /connect ENOENT|database ".*" is not currently accepting connections/,
];
const FAILURES = [
  ...AWAY,
  /^(?:53\w{3}|57014)$/,
  /^(?:P100[01238]|P1010|P1017|P2024|P2037)$/,
  /^(?:TooManyConnections|ConnectionClosed|SocketTimeout|TlsConnectionError|AuthenticationFailed)$/,
  /^Database(?:NotReachable|DoesNotExist|AccessDenied)$/,
  /^(?:timeout exceeded when trying to connect|Query read timeout)/,
  // Our own limits: of our errors, Prisma passes on only the code.
  /^UNAVAILABLE$/,
];

function hasSign(signs: readonly RegExp[]): (error: unknown) => boolean {
  return (error) => {
    const texts = [...codesOf(error), ...linesOf(error)];
    return signs.some((sign) => texts.some((text) => sign.test(text)));
  };
}

/** Whether an error from the database means that it is unavailable, and not that a statement is wrong. */
export const isDatabaseFailure = hasSign(FAILURES);

/** Whether nothing takes writes there: the server is not running, or is starting or shutting down. */
export const isRefusal = hasSign([/^(?:57P0[123]|ECONNREFUSED|ENOENT|DatabaseNotReachable)$/]);

/** Whether an error says only that the connection was lost, while a statement was running. */
export const isLost = hasSign(LOST);

/** Whether a SELECT may succeed at once: its connection was lost, or it was the victim of a deadlock. */
export const isPassing = hasSign([...LOST, /^40P01$/]);

/** Whether another server may answer a SELECT: this one is away, or cancels it for what it replays (class 40). */
export const isAway = hasSign([...AWAY, /^40\w{3}$/]);

/** Whether it refuses a statement that was made for tables that have been distributed, or migrated, since. */
export const isOfChangedTables = hasSign([/^0A000$/]);

/** Whether the database is not migrated yet (undefined_table). */
export const isMissingTable = hasSign([/^42P01$/]);

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

/** Prisma puts lines of its own before the database's message. */
function linesOf(error: unknown): string[] {
  return error instanceof Error ? error.message.trim().split(/\s*\n\s*/) : [];
}

function property(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
}

const NONE_LEFT =
  'The database has no connection left: end other programs that use it, or raise its max_connections';

const ADVICE: Readonly<Record<string, string>> = {
  25006:
    'The database is read-only, so nothing can be written to it now: it may be a replica, or failing over to another server. Set DATABASE_URL to one that can be written to, or wait',
  53100: 'The disk of the database is full: make room on it, and start again',
  53300: NONE_LEFT,
  58030:
    'The database cannot reach its data: its disk fails, or a node of its cluster is down. Mend what the message names, and start again',
  TooManyConnections: NONE_LEFT,
};

/** In one line, with the driver's own message at its end; null for what is no failure of the database. */
export function explainFailure(error: unknown): string | null {
  if (!(error instanceof Error) || error instanceof OperationError || !isDatabaseFailure(error)) return null;
  const [known] = codesOf(error).flatMap((code) => ADVICE[code] ?? []);
  const text = known ?? 'The database went away or does not respond: start again when it does';
  const line = linesOf(error).at(-1) || error.name;
  return `${text} (${line.replace(/\.$/, '')}).`;
}
