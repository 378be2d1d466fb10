import cluster from 'node:cluster';
import type { Consumption, Counted, Counts } from '../limits/counts.js';
import type { MetricValues } from '../telemetry/summed-metrics.js';
import type { FromFirst, FromMember } from './messages.js';

/** What a process that serves has in common with the others on its port. */
export interface ClusterMember {
  /** Whether it does what only one of them has to do: observing domains, pruning the feed of changes. */
  readonly isLeader: boolean;
  /** Where clients are counted together. */
  readonly counts: Counts;
  /** Settles when the first process stops all. */
  readonly stopRequested: Promise<void>;
  /** Tells how the metrics of this process are read. */
  collectFrom(read: () => Promise<MetricValues>): void;
  /** The metrics of all, in Prometheus' text. @throws Error if they could not be read. */
  metrics(): Promise<string>;
  /** Reports that this process accepts connections. @param welcome What the first process prints then. */
  serving(welcome: string): void;
  /** Leaves the others: until then, the connection to the first process keeps this one alive. */
  leave(): void;
}

/**
 * Joins the others, in a process that the first one has started. When that one is gone, node:cluster ends this one at once.
 */
export async function joinCluster(): Promise<ClusterMember> {
  const { worker } = cluster;
  if (worker === undefined) throw new Error('This process was not started by node:cluster.');
  // The first process may be about to end.
  const tell = (message: FromMember) => void worker.send(message, () => {});
  const counts = new SharedCounts(tell);
  const scrapes = new Map<number, (text: string | null) => void>();
  let read: () => Promise<MetricValues> = async () => [];
  const collect = () => read().catch((): MetricValues => []);
  let stop = () => {};
  const stopRequested = new Promise<void>((resolve) => {
    stop = resolve;
  });
  const isLeader = await new Promise<boolean>((begin) => {
    worker.on('message', (message: FromFirst) => {
      switch (message.kind) {
        case 'begin':
          begin(message.isLeader);
          break;
        case 'counted':
          counts.receive(message.counted);
          break;
        case 'collect':
          void collect().then((metrics) =>
            tell({ kind: 'metrics', collection: message.collection, metrics }),
          );
          break;
        case 'scraped':
          scrapes.get(message.scrape)?.(message.text);
          scrapes.delete(message.scrape);
          break;
        case 'stop':
          stop();
          break;
      }
    });
    tell({ kind: 'joined' });
  });
  let latest = 0;
  return {
    ...{ isLeader, counts, stopRequested },
    collectFrom(from) {
      read = from;
    },
    async metrics() {
      latest += 1;
      const scrape = latest;
      const text = await new Promise<string | null>((resolve) => {
        scrapes.set(scrape, resolve);
        tell({ kind: 'scrape', scrape });
      });
      if (text === null) throw new Error('The first process could not read the metrics: its log says why.');
      return text;
    },
    serving: (welcome) => tell({ kind: 'serving', welcome }),
    leave: () => void worker.disconnect(),
  };
}

interface Waiting {
  readonly consumption: Consumption;
  settle(counted: Counted): void;
}

/**
 * Counts in the first process, so that each client is counted exactly, wherever its connections are. One message at a time
 * is under way, and the next one has all that was consumed meanwhile: a busy process sends few for each request.
 */
class SharedCounts implements Counts {
  readonly #tell: (message: FromMember) => void;
  #waiting: Waiting[] = [];
  #sent: readonly Waiting[] = [];
  #isScheduled = false;

  constructor(tell: (message: FromMember) => void) {
    this.#tell = tell;
  }

  count(consumption: Consumption): Promise<Counted> {
    return new Promise((settle) => {
      this.#waiting.push({ consumption, settle });
      this.#schedule();
    });
  }

  receive(counted: readonly Counted[]): void {
    const sent = this.#sent;
    this.#sent = [];
    for (const [place, one] of counted.entries()) sent[place]?.settle(one);
    if (this.#waiting.length > 0) this.#schedule();
  }

  /** Sends at the end of the turn of the event loop what it consumes. */
  #schedule(): void {
    if (this.#isScheduled || this.#sent.length > 0) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#sent = this.#waiting;
      this.#waiting = [];
      this.#tell({ kind: 'count', consumptions: this.#sent.map(({ consumption }) => consumption) });
    });
  }
}
