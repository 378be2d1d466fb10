import { Redis } from 'ioredis';
import { errorCode, messageOf } from '../model/errors.js';
import type { Logger } from '../telemetry/logging.js';

// In milliseconds.
const COMMAND_TIMEOUT = 300;
const CONNECT_TIMEOUT = 1_000;
const MAX_RETRY_DELAY = 1_000;

/** What to check of a Redis that takes no writes, by the codes of its errors. */
const NO_WRITES: ReadonlyMap<string, string> = new Map([
  ['OOM', 'its maxmemory, and that maxmemory-policy is not noeviction'],
  ['READONLY', 'that REDIS_URL names the primary: this is a replica'],
  ['MISCONF', 'its disk, on which it cannot save'],
]);

export type RedisStore = Awaited<ReturnType<typeof openRedisStore>>;

/**
 * Connects to Redis, and reconnects whenever the connection is lost. It never fails: one line in the log says
 * that Redis is unavailable, and one that it is available again. Neither contains the URL or a message of
 * Redis, which may contain a password.
 */
export async function openRedisStore(url: string, log: Logger) {
  const client = new Redis(url, {
    lazyConnect: true,
    connectionName: 'dms',
    disableClientInfo: true,
    connectTimeout: CONNECT_TIMEOUT,
    commandTimeout: COMMAND_TIMEOUT,
    // A server that hangs does not close its side either, and the start waits for that.
    disconnectTimeout: COMMAND_TIMEOUT,
    // A late count is useless.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(attempt * 50, MAX_RETRY_DELAY),
  });
  let fault: string | undefined;
  let closed = false;
  const failed = (error: unknown): void => {
    if (fault === undefined && !closed) {
      fault = reasonOf(error);
      log.warn({ reason: fault }, 'Redis is unavailable: each process counts rate limits by itself');
    }
    // After one timeout no other request waits: the new connection is used once it is there. A connection to
    // another database than that of the URL is never used.
    const isOfDatabase = isReply(error) && Object(Object(error).command).name === 'select';
    if (isTimeout(error) || isOfDatabase) client.disconnect(true);
  };
  client.on('error', failed);
  client.on('close', () => failed(undefined));
  // Settles with the first connection, or the first failure.
  await client.connect().catch(failed);
  return {
    client,
    /** Why Redis is unavailable, and what to check; undefined: it is not. */
    fault: () => fault,
    /** Sends a command. @returns undefined: Redis is unavailable, which costs a request no time. */
    async attempt<Result>(command: () => Promise<Result>): Promise<Result | undefined> {
      if (client.status !== 'ready') return undefined;
      try {
        const result = await command();
        if (fault !== undefined)
          log.info('Redis is available again: rate limits are shared with other processes');
        fault = undefined;
        return result;
      } catch (error) {
        failed(error);
        return undefined;
      }
    },
    close(): void {
      closed = true;
      client.disconnect();
    },
  };
}

/** Without a text of Redis, which may quote a command, or the URL. @param error Undefined: it was closed. */
function reasonOf(error: unknown): string {
  if (isReply(error)) {
    const code = /^[A-Z]+/.exec(error.message)?.[0] ?? 'an error';
    const advice = NO_WRITES.get(code) ?? "the user, the password and the database's number in REDIS_URL";
    return `Redis responds with ${code}: check ${advice}`;
  }
  if (isTimeout(error)) return 'Redis does not respond in time';
  const code = errorCode(error);
  // The message of a system error is that of Node.js: what could not be done, and the address.
  const what = /^E[A-Z]+$/.test(code) ? messageOf(error) : code || 'the connection was closed';
  return `${what}: check the host, the port and the scheme, rediss:// with TLS, in REDIS_URL`;
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.message === 'Command timed out';
}

function isReply(error: unknown): error is Error {
  return error instanceof Error && error.name === 'ReplyError';
}
