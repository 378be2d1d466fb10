import { Counter, Histogram, type Registry } from 'prom-client';
import type { Logger } from './logging.js';

/** Why something was not observed: a stable code, and a phrase for people. */
interface Reason {
  readonly code: string;
  readonly message: string;
}

/** One observation of one domain. */
export interface ObservationEvent {
  readonly domain: string;
  /** In milliseconds. */
  readonly duration: number;
  readonly dns: {
    readonly answered: readonly string[];
    readonly failures: Readonly<Record<string, Reason>>;
    readonly nameExists: boolean | null;
  };
  readonly http:
    | {
        readonly scheme: string;
        readonly status: number;
        readonly address: string;
        readonly heldBack?: object;
      }
    | { readonly failure: Reason };
  /** The result of recording; `nothing`: no part was observed. */
  readonly recording: 'changed' | 'unchanged' | 'repeated' | 'stale' | 'nothing';
  readonly changes: ObservationChanges;
}

/** How many changes of each kind an observation brought. */
export interface ObservationChanges {
  readonly recordsAdded: number;
  readonly recordsRemoved: number;
  readonly headersCreated: number;
  readonly headersUpdated: number;
  readonly headersGone: number;
  readonly headersReturned: number;
}

/** Reports each observation: one line in the log, and counters. */
export interface ObservationTelemetry {
  observed(event: ObservationEvent): void;
}

/** Upper bounds in seconds: from a response on the same network to timeouts everywhere. */
const DURATION_BUCKETS = [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 60];

/**
 * Creates the counters of observations in a registry (once for each registry), and logs to `log`.
 *
 * - `dms_observations_total{recording}`
 * - `dms_observed_parts_total{part, outcome}`: part is `http` or a DNS type, outcome `answered`, the code of
 *   its failure, or `held-back` for a response over HTTP that was not recorded
 * - `dms_observed_changes_total{kind}`
 * - `dms_observation_duration_seconds`
 */
export function createObservationTelemetry(log: Logger, registry: Registry): ObservationTelemetry {
  const registers = [registry];
  const observations = new Counter({
    name: 'dms_observations_total',
    help: 'Observations of a domain, by the result of recording.',
    labelNames: ['recording'],
    registers,
  });
  const parts = new Counter({
    name: 'dms_observed_parts_total',
    help: 'Observed parts of domains, by outcome.',
    labelNames: ['part', 'outcome'],
    registers,
  });
  const changes = new Counter({
    name: 'dms_observed_changes_total',
    help: 'Changes that observations brought, by kind.',
    labelNames: ['kind'],
    registers,
  });
  const durations = new Histogram({
    name: 'dms_observation_duration_seconds',
    help: 'Duration of an observation of a domain.',
    buckets: DURATION_BUCKETS,
    registers,
  });
  return {
    observed(event) {
      log.info({ ...event, duration: Math.round(event.duration) }, 'observed');
      observations.inc({ recording: event.recording });
      for (const part of event.dns.answered) parts.inc({ part, outcome: 'answered' });
      for (const [part, { code }] of Object.entries(event.dns.failures)) parts.inc({ part, outcome: code });
      parts.inc({ part: 'http', outcome: siteOutcome(event.http) });
      for (const [kind, count] of Object.entries(event.changes)) changes.inc({ kind }, count);
      durations.observe(event.duration / 1000);
    },
  };
}

function siteOutcome(http: ObservationEvent['http']): string {
  if ('failure' in http) return http.failure.code;
  return http.heldBack === undefined ? 'answered' : 'held-back';
}
