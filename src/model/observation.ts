import type { DnsRecord } from './dns-record.js';
import { invalidValue } from './errors.js';
import type { Instant } from './instant.js';

/** In canonical form. */
export interface Observation {
  readonly domain: string;
  readonly observedAt: Instant;
  /** Absent: DNS was not observed. */
  readonly dns?: DnsObservation;
  /** Absent: HTTP was not observed. Field names in lower case to field values. */
  readonly httpHeaders?: ReadonlyMap<string, string>;
  /** In lower case: what the observer omits from `httpHeaders`; whether the site sends it is unknown. */
  readonly ignoredHeaders?: ReadonlySet<string>;
  /** The response with `httpHeaders`. Absent: it is unknown. */
  readonly response?: SiteResponse;
  /** Before HTTP, at every reachable address: the port rejected the connection, or did not speak TLS. */
  readonly httpsDeclined?: boolean;
  /** At most 64 printable characters. */
  readonly source?: string;
}

export interface SiteResponse {
  readonly scheme: 'https' | 'http';
  /** From 100 to 999. */
  readonly status: number;
  /** Where the connection went: an IP address in canonical form; null: that is unknown. */
  readonly address: string | null;
}

/** RFC 9110, section 15, whose classes end at 599; others are in use. */
export function isStatus(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 100 && Number(value) <= 999;
}

/** The complete set of a domain's records, of every type or of the types that were queried. */
export interface DnsObservation {
  /** The types that were queried and answered, at least one. Absent: every type. */
  readonly types?: ReadonlySet<string>;
  /** Where `types` has OTHER_TYPES (history/state.ts): types that are not among them. Absent: none. */
  readonly notOther?: ReadonlySet<string>;
  /**
   * Types of which only these owner names were observed: the known records of others stay. One that is not in
   * `types` was seen beside them, and counts only where records of it are known. Absent: every owner name of
   * each type in `types`.
   */
  readonly observedOwners?: ReadonlyMap<string, ReadonlySet<string>>;
  /**
   * The records were seen then, and nothing is known of others: sightings, as passive DNS has them. They fill
   * in history, wherever it is, and are no observation of their types. Absent: the set is complete.
   */
  readonly sighted?: boolean;
  /** By type, as recordsByType() gives them. A type without records may be missing. */
  readonly records: ReadonlyMap<string, readonly DnsRecord[]>;
}

export interface ObservationLimits {
  /** Over all owner names. */
  readonly recordsPerType: number;
  readonly records: number;
  readonly headers: number;
  /** In octets; several values of one name are joined. */
  readonly headerValue: number;
}

/** What they exceed, as a phrase that names the setting; null: they are within the limit. */
export function excessOfRecords(type: string, count: number, limits: ObservationLimits): string | null {
  const most = limits.recordsPerType;
  if (count <= most) return null;
  return `${count} records of type ${type} are more than LIMIT_RECORDS_PER_TYPE allows (${most})`;
}

export function excessOfHeaders(
  headers: ReadonlyMap<string, string>,
  { headers: most, headerValue }: ObservationLimits,
): string | null {
  if (headers.size > most) return `${headers.size} headers are more than LIMIT_HEADERS allows (${most})`;
  for (const [name, value] of headers) {
    // A UTF-16 unit is at least one octet and at most three.
    const octets = value.length * 3 <= headerValue ? 0 : Buffer.byteLength(value);
    if (octets > headerValue)
      return `the value of ${name} has ${octets} octets, more than LIMIT_HEADER_VALUE allows (${headerValue})`;
  }
  return null;
}

export function requireWithinLimits({ dns, httpHeaders }: Observation, limits: ObservationLimits): void {
  let [records, excess]: [number, string | null] = [0, null];
  for (const [type, { length }] of dns?.records ?? []) {
    records += length;
    excess ??= excessOfRecords(type, length, limits);
  }
  if (records > limits.records)
    excess ??= `${records} records are more than LIMIT_RECORDS allows (${limits.records})`;
  const key = excess === null ? 'httpHeaders' : 'dnsRecords';
  if (httpHeaders !== undefined) excess ??= excessOfHeaders(httpHeaders, limits);
  if (excess !== null) throw invalidValue(`${key}: ${excess}: set it higher to import the line.`);
}
