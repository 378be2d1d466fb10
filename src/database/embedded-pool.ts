import { resolve } from 'node:path';
import pg from 'pg';
import type { EmbeddedDatabase } from './embedded/embedded-database.js';
import { allPools, createWritingPool, type PoolLimits, type Pools } from './pool.js';

/** Longer than whenReady() waits, so that its error is the one that is seen. */
const CONNECTION_TIMEOUT = 30_000;

type ConnectCallback = Parameters<pg.Client['connect']>[0];

export function embeddedPools(database: EmbeddedDatabase, limits: PoolLimits): Pools {
  const config = {
    host: database.host,
    port: database.port,
    user: 'postgres',
    database: 'postgres',
    ssl: false,
    connectionTimeoutMillis: CONNECTION_TIMEOUT,
    Client: waitingClient(() => database.whenReady()),
  };
  // All clients share one session, in which named statements would clash.
  return allPools(createWritingPool(config, limits), config, limits, false);
}

/**
 * A class of clients for a pool that connect once the database is ready: while the embedded database is being
 * started again, a query waits instead of failing.
 */
function waitingClient(ready: () => Promise<void>): new () => pg.Client {
  return class extends pg.Client {
    override connect(): Promise<pg.Client>;
    override connect(callback: ConnectCallback): void;
    override connect(callback?: ConnectCallback): Promise<pg.Client> | undefined {
      if (callback === undefined) return ready().then(() => super.connect());
      ready().then(
        () => super.connect(callback),
        (error) => Reflect.apply(callback, undefined, [error]),
      );
      return undefined;
    }
  };
}

/** Where the embedded database is, for messages: one phrase. */
export function embeddedPlace(dataDirectory: string): string {
  return `embedded, in ${resolve(dataDirectory)}`;
}
