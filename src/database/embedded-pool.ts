import type pg from 'pg';
import type { EmbeddedMembership } from './embedded/join.js';
import { waitingClient } from './embedded/waiting-client.js';
import { createPool } from './pool.js';

/** Longer than whenReady() waits, so that its error is the one that is seen. */
const CONNECTION_TIMEOUT = 30_000;

/** The pool of connections to the embedded database. */
export function embeddedPool(membership: EmbeddedMembership, poolSize: number): pg.Pool {
  return createPool({
    host: membership.host,
    port: membership.port,
    user: 'postgres',
    database: 'postgres',
    ssl: false,
    max: poolSize,
    connectionTimeoutMillis: CONNECTION_TIMEOUT,
    Client: waitingClient(() => membership.whenReady()),
  });
}
