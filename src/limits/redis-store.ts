import { Redis } from 'ioredis';
import { errorCode } from '../model/errors.js';
import { isJsonObject } from '../model/json-values.js';
import type { Logger } from '../telemetry/logging.js';

// All in milliseconds.

const COMMAND_TIMEOUT = 300;
const CONNECT_TIMEOUT = 1_000;
const MAX_RETRY_DELAY = 1_000;

/** Redis, as the limiters use it. */
export interface RedisStore {
  readonly client: Redis;
  /** Whether commands may be sent: an unavailable Redis costs a request no time. */
  isReady(): boolean;
  /** To be called after a command that succeeded. */
  succeeded(): void;
  /** To be called after a command that failed. */
  failed(error: unknown): void;
  close(): void;
}

/**
 * Connects to Redis, and reconnects whenever the connection is lost. It never fails: one line in the log says that
 * Redis is unavailable, and one that it is available again. Neither contains the URL or a message of Redis, which
 * may contain a password.
 *
 * @param url `redis://…` or `rediss://…`
 */
export async function openRedisStore(url: string, log: Logger): Promise<RedisStore> {
  const client = connect(url);
  const byTls = /^rediss:/i.test(url);
  let wasReady = false;
  let unavailable = false;
  let closed = false;
  const failed = (error: unknown): void => {
    if (!unavailable && !closed) {
      const reason = reasonOf(error, { byTls, wasReady });
      log.warn({ reason }, 'Redis is unavailable: each process counts rate limits by itself');
    }
    unavailable = true;
    // After one timeout no other request waits: the new connection is used once it is established. A connection to
    // another database than the one in the URL is never used.
    if (isTimeout(error) || isDatabaseError(error)) client.disconnect(true);
  };
  client.on('ready', () => {
    wasReady = true;
  });
  client.on('error', failed);
  client.on('close', () => failed(undefined));
  // Settles with the first connection, or the first failure.
  await client.connect().catch(failed);
  return {
    client,
    isReady: () => client.status === 'ready',
    succeeded() {
      if (unavailable) log.info('Redis is available again: rate limits are shared with other processes');
      unavailable = false;
    },
    failed,
    close() {
      closed = true;
      client.disconnect();
    },
  };
}

function connect(url: string): Redis {
  return new Redis(url, {
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
}

/** What to do about an error of Redis, by its code. */
const ADVICE_OF_CODE: Readonly<Record<string, string>> = {
  NOAUTH: 'Redis requires a password: write it in REDIS_URL, as in redis://user:password@host:6379',
  WRONGPASS: 'Redis rejects the user or the password in REDIS_URL: write others',
  NOPERM: 'the user in REDIS_URL lacks permissions for counting: grant them, or write another user',
  READONLY: 'this Redis is a read-only replica: write the address of its primary in REDIS_URL',
  MOVED: 'this Redis is part of a cluster, which is not supported: write the address of another in REDIS_URL',
};

const NO_DATABASE =
  'Redis does not have the database in REDIS_URL: write another number at its end, such as /1, or none';

/**
 * Why Redis is unavailable, and what to write in REDIS_URL where that is the reason. It contains no text of Redis,
 * which may quote a command, but our own, a code, or the message of Node.js, which has the address without user and
 * password.
 *
 * @param error What the client threw; undefined: the connection was closed.
 * @param connection Whether it uses TLS, and whether there was ever a usable one.
 */
function reasonOf(
  error: unknown,
  { byTls, wasReady }: { readonly byTls: boolean; readonly wasReady: boolean },
): string {
  const code = errorCode(error) || 'closed';
  // A server without TLS waits for more, or sends something else.
  const isTlsError = code === 'ETIMEDOUT' || code.startsWith('ERR_SSL_');
  // The last is an error of the client, which has something to send then.
  const isClosed =
    !(error instanceof Error) ||
    ['EPIPE', 'ECONNRESET'].includes(code) ||
    /^Stream isn't writeable/.test(error.message);
  if (byTls && (isTlsError || (isClosed && !wasReady))) {
    return `no TLS connection could be established (${code}): if Redis does not use TLS, write redis:// in REDIS_URL`;
  }
  if (isClosed) {
    const advice = wasReady ? '' : ': if Redis requires TLS, write rediss:// in REDIS_URL';
    return `the connection was closed${advice}`;
  }
  if (error.name === 'ReplyError') return reasonOfReply(error);
  if (error.name === 'ParserError') {
    const advice = byTls ? '' : ', and rediss:// if it requires TLS';
    return `the server is not Redis: write another host or port in REDIS_URL${advice}`;
  }
  return isTimeout(error) ? 'Redis does not respond in time' : error.message;
}

function reasonOfReply(error: Error): string {
  const code = /^[A-Z]+/.exec(error.message)?.[0] ?? 'ERR';
  const advice = ADVICE_OF_CODE[code] ?? (isDatabaseError(error) ? NO_DATABASE : undefined);
  return advice ?? `Redis responds with an error: ${code}`;
}

/** Whether a command timed out. */
function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.message === 'Command timed out';
}

/** Whether Redis rejected the database of the URL: the connection then has another one selected. */
function isDatabaseError(error: unknown): boolean {
  if (!(error instanceof Error) || error.name !== 'ReplyError' || !('command' in error)) return false;
  return isJsonObject(error.command) && error.command['name'] === 'select';
}
