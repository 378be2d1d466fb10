import { collectDefaultMetrics, Registry } from 'prom-client';

let registry: Registry | undefined;

/**
 * The metrics of the process itself: processor, memory, open files, garbage collection and the event
 * loop's lag. There is one set for the process, since what collects them cannot be stopped.
 */
export function processMetrics(): Registry {
  if (registry === undefined) {
    registry = new Registry();
    collectDefaultMetrics({ register: registry });
  }
  return registry;
}
