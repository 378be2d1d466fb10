import pg from 'pg';
import type { EmbeddedMembership } from './embedded/join.js';
import { waitingClient } from './embedded/waiting-client.js';
import { valueTypes } from './value-types.js';

/** Longer than whenReady() waits, so that its error is the one that is seen. */
const CONNECTION_TIMEOUT = 30_000;

/** The pool of connections to the embedded database. */
export function embeddedPool(membership: EmbeddedMembership, poolSize: number): pg.Pool {
  return new pg.Pool({
    host: membership.host,
    port: membership.port,
    user: 'postgres',
    database: 'postgres',
    ssl: false,
    max: poolSize,
    connectionTimeoutMillis: CONNECTION_TIMEOUT,
    types: valueTypes(),
    Client: waitingClient(() => membership.whenReady()),
  });
}
