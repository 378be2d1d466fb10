import { parseDmsLine } from '../../src/importers/dms.js';
import { parseInstant } from '../../src/model/instant.js';
import type { Observation } from '../../src/model/observation.js';

/** A time long after every observation of the tests. */
export const NOW = parseInstant('2026-01-01T00:00:00Z');

/** What a test says of an observation; the rest is filled in. */
export interface ObservationParts {
  readonly domain?: string;
  /** Seconds after 2024-01-01T00:00:00Z. */
  readonly at: number;
  /** Addresses of A records, or whole data objects. */
  readonly records?: readonly (string | Readonly<Record<string, unknown>>)[] | undefined;
  readonly types?: readonly string[] | undefined;
  readonly headers?: Readonly<Record<string, string | readonly string[]>> | undefined;
  /** Of the response with the headers. */
  readonly status?: number;
  readonly source?: string | undefined;
}

export function observation(parts: ObservationParts): Observation {
  return parseDmsLine(observationLine(parts), NOW);
}

export function observationLine(parts: ObservationParts): string {
  const { domain = 'example.com', at, records, types, headers, status, source } = parts;
  return JSON.stringify({
    domain,
    observedAt: timeText(at),
    dnsRecords: records?.map((record) =>
      typeof record === 'string' ? addressRecord(domain, record) : record,
    ),
    dnsTypes: types,
    httpHeaders: headers,
    site: status === undefined ? undefined : { scheme: 'http', status },
    source,
  });
}

export function addressRecord(host: string, ip: string): Record<string, unknown> {
  return { host, class: 'IN', type: 'A', ip };
}

/** The time that is written as `at` in the parts of an observation. */
export function timeText(at: number): string {
  return new Date(Date.UTC(2024, 0, 1) + at * 1000).toISOString();
}

export function instant(at: number): bigint {
  return parseInstant(timeText(at));
}
