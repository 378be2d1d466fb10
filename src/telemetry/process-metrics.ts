import type { Pool } from 'pg';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

// What creates metrics in a registry is called once for each registry.

let registry: Registry | undefined;

/** Of the process itself, such as its memory: one set, since their collection cannot be stopped. */
export function processMetrics(): Registry {
  if (registry === undefined) {
    registry = new Registry();
    collectDefaultMetrics({ register: registry });
  }
  return registry;
}

export function createPoolMetrics(registry: Registry, pools: () => Record<string, Pool>): void {
  const registers = [registry];
  new Gauge({
    name: 'dms_database_connections',
    help: 'Connections to the database, by pool and state.',
    labelNames: ['pool', 'state'],
    registers,
    collect() {
      this.reset();
      for (const [pool, { totalCount, idleCount }] of Object.entries(pools())) {
        this.set({ pool, state: 'idle' }, idleCount);
        this.set({ pool, state: 'busy' }, totalCount - idleCount);
      }
    },
  });
  new Gauge({
    name: 'dms_database_connections_awaited',
    help: 'Statements that wait for a connection, by pool.',
    labelNames: ['pool'],
    registers,
    collect() {
      this.reset();
      for (const [pool, { waitingCount }] of Object.entries(pools())) this.set({ pool }, waitingCount);
    },
  });
}

/** Null: it is in use, and its lag, in milliseconds, is not known. */
type ReplicaState = Readonly<{ place: string; reason: string | null; lag: number | null }>;

export function createReplicaMetrics(registry: Registry, replicas: () => readonly ReplicaState[]): void {
  const registers = [registry];
  new Gauge({
    name: 'dms_replica_usable',
    help: 'Whether responses are read from a replica: 1, or 0 where it is left out.',
    labelNames: ['replica'],
    // Of several processes.
    aggregator: 'min',
    registers,
    collect() {
      for (const { place: replica, reason } of replicas()) this.set({ replica }, reason === null ? 1 : 0);
    },
  });
  new Gauge({
    name: 'dms_replica_lag_seconds',
    help: 'For how long there has been something that a replica has not replayed; absent: not known.',
    labelNames: ['replica'],
    aggregator: 'max',
    registers,
    collect() {
      this.reset();
      for (const { place: replica, lag } of replicas()) if (lag !== null) this.set({ replica }, lag / 1000);
    },
  });
}

export function createLoaderMetrics(registry: Registry) {
  const registers = [registry];
  const sizes = new Histogram({
    name: 'dms_loader_batch_size',
    help: 'Keys that were loaded by one statement.',
    labelNames: ['loader'],
    buckets: [1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64],
    registers,
  });
  const durations = new Histogram({
    name: 'dms_loader_batch_duration_seconds',
    help: 'How long the database took for a batch, the wait for a connection included.',
    labelNames: ['loader'],
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 10],
    registers,
  });
  return (loader: string, size: number, seconds: number): void => {
    sizes.observe({ loader }, size);
    durations.observe({ loader }, seconds);
  };
}

/**
 * Imports are separate processes, so the counts of their lines are in the database.
 *
 * @param read The counts by outcome, within a short time. Where it fails, the previous ones remain.
 */
export function createImportMetrics(
  registry: Registry,
  read: () => Promise<ReadonlyMap<string, number>>,
): void {
  let counts: ReadonlyMap<string, number> = new Map();
  new Counter({
    name: 'dms_import_lines_total',
    help: 'Lines of all completed imports into the database, by outcome.',
    labelNames: ['outcome'],
    // All processes read the same.
    aggregator: 'max',
    registers: [registry],
    async collect() {
      // The readiness probe reports an unavailable database.
      counts = await read().catch(() => counts);
      this.reset();
      for (const [outcome, count] of counts) this.inc({ outcome }, count);
    },
  });
}
