import type { Consumption, Counted } from '../limits/counts.js';
import type { MetricValues } from '../telemetry/summed-metrics.js';

/** From a serving process to the first one. */
export type FromMember =
  /** It listens to messages, and waits for the one to begin. */
  | { readonly kind: 'joined' }
  /** It accepts connections. @see ClusterMember.serving */
  | { readonly kind: 'serving'; readonly welcome: string }
  | { readonly kind: 'count'; readonly consumptions: readonly Consumption[] }
  /** Asks for the metrics of all. */
  | { readonly kind: 'scrape'; readonly scrape: number }
  | { readonly kind: 'metrics'; readonly collection: number; readonly metrics: MetricValues };

/** From the first process to a serving one. */
export type FromFirst =
  | { readonly kind: 'begin'; readonly isLeader: boolean }
  /** In the order of the consumptions that were sent. */
  | { readonly kind: 'counted'; readonly counted: readonly Counted[] }
  /** Asks for the metrics of this process. */
  | { readonly kind: 'collect'; readonly collection: number }
  /** Null: they could not be read. */
  | { readonly kind: 'scraped'; readonly scrape: number; readonly text: string | null }
  | { readonly kind: 'stop' };
