import cluster from 'node:cluster';
import { on } from 'node:events';
import { AggregatorRegistry, type Registry } from 'prom-client';

export const LEADS = 'DMS_LEADS';

/** To the first process: the welcome of one that accepts connections, or the wish for the metrics of all. */
export type FromMember = { readonly welcome: string } | { readonly wants: 'metrics' };

/** From the first process: Prometheus' text; null: it could not be read. */
export interface MetricsOfAll {
  readonly metricsOfAll: string | null;
}

export type ClusterMember = ReturnType<typeof joinCluster>;

/** Joins the others, in a process that the first one has started. When that is gone, node:cluster ends it. */
export function joinCluster() {
  const { worker } = cluster;
  if (worker === undefined) throw new Error('This process was not started by node:cluster.');
  // The first process may be about to end.
  const tell = (message: FromMember) => void worker.send(message, () => {});
  // From now on it answers when the first process collects metrics.
  new AggregatorRegistry();
  AggregatorRegistry.setRegistries([]);
  return {
    /** It does what only one of them has to do: observing domains, pruning the feed of changes. */
    isLeader: process.env[LEADS] === '1',
    shareMetrics: (registries: Registry[]) => AggregatorRegistry.setRegistries(registries),
    /** Those of all, in Prometheus' text. @throws Error if they could not be read. */
    async metrics(): Promise<string> {
      const messages = on(worker, 'message');
      tell({ wants: 'metrics' });
      for await (const [{ metricsOfAll }] of messages) {
        if (typeof metricsOfAll === 'string') return metricsOfAll;
        if (metricsOfAll === null) break;
      }
      throw new Error('The first process could not read the metrics: its log says why.');
    },
    /** This process accepts connections. @param welcome What the first process prints then. */
    serving: (welcome: string) => tell({ welcome }),
    /** Leaves the others: until then, the connection to the first process keeps this one alive. */
    leave: () => void worker.disconnect(),
  };
}
