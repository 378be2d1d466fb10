import { AggregatorRegistry, type Registry } from 'prom-client';

/** What one registry has, as prom-client gives it. */
export type MetricValues = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

/**
 * The metrics of several processes as one: each by its `aggregator` (prom-client), which is the sum unless it says
 * otherwise. What a process has counted stays when it ends, as far as it was read: a sum that falls would look like a
 * restart of all, and Prometheus would count all of it again.
 */
export class SummedMetrics {
  #ended: Promise<MetricValues> = Promise.resolve([]);

  /** Keeps the counters of a process that has ended. */
  keep(metrics: MetricValues): void {
    const counters = metrics.filter(
      ({ type, aggregator }) => isCounter(String(type)) && aggregator === 'sum',
    );
    this.#ended = this.#ended.then((ended) =>
      AggregatorRegistry.aggregate([ended, counters]).getMetricsAsJSON(),
    );
  }

  /**
   * In Prometheus' text.
   *
   * @param first Of the process that has started the others. What cannot be summed, such as the time of a start, is its.
   */
  async text(first: MetricValues, others: readonly MetricValues[]): Promise<string> {
    const own = first.map((metric) =>
      metric.aggregator === 'omit' ? { ...metric, aggregator: 'first' } : metric,
    );
    return AggregatorRegistry.aggregate([own, ...others, await this.#ended]).metrics();
  }
}

function isCounter(type: string): boolean {
  return type === 'counter' || type === 'histogram';
}
