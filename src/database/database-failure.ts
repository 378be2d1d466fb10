import { OperationError } from '../model/errors.js';

/**
 * `failure`: unavailable; `lost`: so was the connection, while a statement was running; `refusal`: nothing
 * takes writes there; `unsupported`: the database refuses a statement as one that it does not support.
 */
type Kind = 'failure' | 'lost' | 'refusal' | 'deadlock' | 'unsupported' | 'missing table';

/**
 * What errors mean, by their codes and by lines of their messages: codes of Prisma and kinds of its driver
 * adapter, SQLSTATEs (PostgreSQL, appendix A), codes of the system's sockets, and messages of pg and its pool,
 * which have no code; with what is wrong and what to do where an operator has to mend it.
 */
const MEANINGS: readonly (readonly [sign: RegExp, kinds: readonly Kind[], text?: string])[] = [
  [
    /^25006$/,
    ['failure'],
    'The database is read-only, so nothing can be written to it now: it may be a replica, or failing over to another server. Set DATABASE_URL to one that can be written to, or wait',
  ],
  [/^53100$/, ['failure'], 'The disk of the database is full: make room on it, and start again'],
  [
    /^58030$/,
    ['failure'],
    'The database cannot reach its data: its disk fails, or a node of its cluster is down. Mend what the message names, and start again',
  ],
  [
    /^(?:53300|TooManyConnections)$/,
    ['failure'],
    'The database has no connection left: end other programs that use it, or raise its max_connections',
  ],
  // A shutdown, a start.
  [/^57P0[12]$/, ['failure', 'lost', 'refusal']],
  [/^(?:57P03|ECONNREFUSED|DatabaseNotReachable)$/, ['failure', 'refusal']],
  [/^ENOENT$/, ['refusal']],
  [/connect ENOENT/, ['failure']],
  [/^(?:ECONNRESET|EPIPE|0800[36])$/, ['failure', 'lost']],
  [/^Connection terminated(?: unexpectedly)?$/, ['failure', 'lost']],
  [/^Client (?:was closed|has encountered a connection error) and is not queryable/, ['failure', 'lost']],
  // Other connection exceptions, and insufficient resources; dropped, login revoked, cancelled.
  [/^(?:08\w{3}|53\w{3}|57P0\d|3D000|28000|28P01|57014)$/, ['failure']],
  [/^(?:ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)$/, ['failure']],
  [/^(?:P100[01238]|P1010|P1017|P2024|P2037)$/, ['failure']],
  [/^(?:ConnectionClosed|SocketTimeout|TlsConnectionError|AuthenticationFailed)$/, ['failure']],
  [/^Database(?:DoesNotExist|AccessDenied)$/, ['failure']],
  [/^(?:Connection terminated|timeout exceeded when trying to connect|Query read timeout)/, ['failure']],
  [
    /^(?:Cannot use a pool after calling end|The embedded database (?:has ended|cannot be reached))/,
    ['failure'],
  ],
  [/database ".*" is not currently accepting connections/, ['failure']],
  // Our own limits: of our errors, Prisma passes on only the code.
  [/^UNAVAILABLE$/, ['failure']],
  // deadlock_detected, feature_not_supported, undefined_table
  [/^40P01$/, ['deadlock']],
  [/^0A000$/, ['unsupported']],
  [/^42P01$/, ['missing table']],
];

function meaning(kind: Kind): (error: unknown) => boolean {
  const signs = MEANINGS.filter(([, kinds]) => kinds.includes(kind)).map(([sign]) => sign);
  return (error) => {
    const texts = [...codesOf(error), ...linesOf(error)];
    return signs.some((sign) => texts.some((text) => sign.test(text)));
  };
}

/** Whether an error from the database means that it is unavailable, and not that a statement is wrong. */
export const isDatabaseFailure = meaning('failure');

/** Whether nothing takes writes there: the server is not running, or is starting or shutting down. */
export const isRefusal = meaning('refusal');

/** Whether an error says only that the connection was lost. */
export const isLost = meaning('lost');

const isDeadlock = meaning('deadlock');

/** Whether a SELECT may succeed at once: its connection was lost, or it was the victim of a deadlock. */
export function isPassing(error: unknown): boolean {
  return isLost(error) || isDeadlock(error);
}

/**
 * Whether the database refuses a statement that was made for the tables that this program found when it was
 * started: they have been distributed over a Citus cluster since, or migrated.
 */
export const isOfChangedTables = meaning('unsupported');

/** Whether a table is not there: the database is not migrated yet. */
export const isMissingTable = meaning('missing table');

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

/**
 * Explains the error of a database that is unavailable, full or read-only: what is wrong and what to do, in one
 * line with the driver's own message at its end. Null for any other error.
 */
export function explainFailure(error: unknown): string | null {
  if (!(error instanceof Error) || error instanceof OperationError || !isDatabaseFailure(error)) return null;
  const codes = codesOf(error);
  const known = MEANINGS.find(([sign]) => codes.some((code) => sign.test(code)))?.[2];
  const text = known ?? 'The database went away or does not respond: start again when it does';
  const line = linesOf(error).at(-1) || error.name;
  return `${text} (${line.replace(/\.$/, '')}).`;
}
