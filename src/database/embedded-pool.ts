import type { EmbeddedMembership } from './embedded/join.js';
import { waitingClient } from './embedded/waiting-client.js';
import { createPools, type PoolLimits, type Pools } from './pool.js';

/** Longer than whenReady() waits, so that its error is the one that is seen. */
const CONNECTION_TIMEOUT = 30_000;

/** The pools of connections to the embedded database. */
export function embeddedPools(membership: EmbeddedMembership, limits: PoolLimits): Pools {
  return createPools(
    {
      host: membership.host,
      port: membership.port,
      user: 'postgres',
      database: 'postgres',
      ssl: false,
      connectionTimeoutMillis: CONNECTION_TIMEOUT,
      Client: waitingClient(() => membership.whenReady()),
    },
    limits,
  );
}
