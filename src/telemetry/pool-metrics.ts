import { Gauge, type Registry } from 'prom-client';

/** What a pool of connections tells of itself. */
export interface PoolState {
  readonly totalCount: number;
  readonly idleCount: number;
  /** How many wait for a connection. */
  readonly waitingCount: number;
}

/**
 * Makes the gauges of pools in a registry (once for each registry), read when the metrics are:
 *
 * - `dms_database_connections{pool, state}`: state is `idle` or `busy`
 * - `dms_database_connections_awaited{pool}`
 */
export function createPoolMetrics(registry: Registry, pools: Readonly<Record<string, PoolState>>): void {
  registry.registerMetric(
    new Gauge({
      name: 'dms_database_connections',
      help: 'Connections to the database, by pool and state.',
      labelNames: ['pool', 'state'],
      registers: [],
      collect() {
        for (const [pool, { totalCount, idleCount }] of Object.entries(pools)) {
          this.set({ pool, state: 'idle' }, idleCount);
          this.set({ pool, state: 'busy' }, totalCount - idleCount);
        }
      },
    }),
  );
  registry.registerMetric(
    new Gauge({
      name: 'dms_database_connections_awaited',
      help: 'Statements that wait for a connection, by pool.',
      labelNames: ['pool'],
      registers: [],
      collect() {
        for (const [pool, { waitingCount }] of Object.entries(pools)) this.set({ pool }, waitingCount);
      },
    }),
  );
}
