import { Redis } from 'ioredis';
import type { Logger } from '../telemetry/logging.js';
import { isOfAnotherDatabase, isTimeout, reasonOf } from './redis-failure.js';

/** How long, in milliseconds, Redis may take to answer, and to take a connection. */
const ANSWER_LIMIT = 300;
const CONNECT_LIMIT = 1_000;
const LONGEST_PAUSE = 1_000;

/** Redis, as the limiters use it: there, or known to be away. */
export interface RedisStore {
  readonly client: Redis;
  /** Whether asking makes sense; a Redis that is away costs a request no time. */
  isReady(): boolean;
  /** Redis has answered. */
  answered(): void;
  /** Redis has not answered, or not as it should. */
  failed(error: unknown): void;
  close(): void;
}

/**
 * Connects to Redis, and connects again whenever the connection is lost. It never fails: that it cannot be used
 * is one line in the log, and so is the end of that. No line holds what the address or an error of Redis' own
 * may hold, a password.
 *
 * @param url `redis://…` or `rediss://…`
 */
export async function openRedisStore(url: string, log: Logger): Promise<RedisStore> {
  const client = connect(url);
  const byTls = /^rediss:/i.test(url);
  let wasReady = false;
  let away = false;
  let closed = false;
  const failed = (error: unknown): void => {
    if (!away && !closed) {
      const reason = reasonOf(error, { byTls, wasReady });
      log.warn({ reason }, 'Redis cannot be used: each process counts its rate limits by itself');
    }
    away = true;
    // What is silent once is not waited for again: the new connection is used when it has answered. One to
    // another database than the one that was asked for is never used.
    if (isTimeout(error) || isOfAnotherDatabase(error)) client.disconnect(true);
  };
  client.on('ready', () => {
    wasReady = true;
  });
  client.on('error', failed);
  client.on('close', () => failed(undefined));
  // It settles with the first connection, or with the first failure.
  await client.connect().catch(failed);
  return {
    client,
    isReady: () => client.status === 'ready',
    answered() {
      if (away) log.info('Redis is back: rate limits are shared with other processes');
      away = false;
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
    connectTimeout: CONNECT_LIMIT,
    commandTimeout: ANSWER_LIMIT,
    // One that hangs does not close its side either, and the start waits for that.
    disconnectTimeout: ANSWER_LIMIT,
    // A count that is late is worth nothing.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(attempt * 50, LONGEST_PAUSE),
  });
}
