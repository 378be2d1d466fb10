import cluster from 'node:cluster';
import { on } from 'node:events';
import { AggregatorRegistry, type Registry } from 'prom-client';

/** The environment variable that tells a process whether it leads. */
export const LEADS = 'DMS_LEADS';

/** From a serving process to the first one: its welcome, once it accepts connections, or the wish for the metrics of all. */
export type FromMember = { readonly welcome: string } | { readonly wants: 'metrics' };

/** From the first process: Prometheus' text; null: it could not be read. */
export interface MetricsOfAll {
  readonly metricsOfAll: string | null;
}

/** What a process that serves has in common with the others on its port. */
export interface ClusterMember {
  /** Whether it does what only one of them has to do: observing domains, pruning the feed of changes. */
  readonly isLeader: boolean;
  /** Tells which metrics of this process count. */
  shareMetrics(registries: Registry[]): void;
  /** The metrics of all, in Prometheus' text. @throws Error if they could not be read. */
  metrics(): Promise<string>;
  /** Reports that this process accepts connections. @param welcome What the first process prints then. */
  serving(welcome: string): void;
  /** Leaves the others: until then, the connection to the first process keeps this one alive. */
  leave(): void;
}

/** Joins the others, in a process that the first one has started. When that one is gone, node:cluster ends this one at once. */
export function joinCluster(): ClusterMember {
  const { worker } = cluster;
  if (worker === undefined) throw new Error('This process was not started by node:cluster.');
  // The first process may be about to end.
  const tell = (message: FromMember) => void worker.send(message, () => {});
  // From now on it answers when the first process collects metrics.
  new AggregatorRegistry();
  AggregatorRegistry.setRegistries([]);
  return {
    isLeader: process.env[LEADS] === '1',
    shareMetrics: (registries) => AggregatorRegistry.setRegistries(registries),
    async metrics() {
      const messages = on(worker, 'message');
      tell({ wants: 'metrics' });
      for await (const [{ metricsOfAll }] of messages) {
        if (typeof metricsOfAll === 'string') return metricsOfAll;
        if (metricsOfAll === null) break;
      }
      throw new Error('The first process could not read the metrics: its log says why.');
    },
    serving: (welcome) => tell({ welcome }),
    leave: () => void worker.disconnect(),
  };
}
