import { Histogram, type Registry } from 'prom-client';

/** Tells of the batches that answers are loaded in. */
export interface LoaderMetrics {
  /** @param loader a name of the program's own. */
  loaded(loader: string, size: number, seconds: number): void;
}

const SIZE_BUCKETS = [1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64];
/** Upper bounds in seconds. */
const DURATION_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 10];

/**
 * Makes the histograms of loaders in a registry (once for each registry):
 *
 * - `dms_loader_batch_size{loader}`
 * - `dms_loader_batch_duration_seconds{loader}`
 */
export function createLoaderMetrics(registry: Registry): LoaderMetrics {
  const sizes = new Histogram({
    name: 'dms_loader_batch_size',
    help: 'Keys that were loaded by one statement.',
    labelNames: ['loader'],
    buckets: SIZE_BUCKETS,
    registers: [registry],
  });
  const durations = new Histogram({
    name: 'dms_loader_batch_duration_seconds',
    help: 'How long the database took for a batch, the wait for a connection included.',
    labelNames: ['loader'],
    buckets: DURATION_BUCKETS,
    registers: [registry],
  });
  return {
    loaded(loader, size, seconds) {
      sizes.observe({ loader }, size);
      durations.observe({ loader }, seconds);
    },
  };
}
