import { InvalidObservationError } from './errors.js';
import type { Observation } from './observation.js';

/** How much one observation may hold. */
export interface ObservationLimits {
  /** DNS records of one type, over all owner names. */
  readonly recordsPerType: number;
  /** DNS records of all types together. */
  readonly records: number;
  /** Response headers, by field name. */
  readonly headers: number;
  /** Octets in the value of one header; several values of one name are joined. */
  readonly headerValue: number;
}

/** What the records of one type exceed, as a phrase that names the setting; null: they are within the limit. */
export function excessOfRecords(
  type: string,
  count: number,
  { recordsPerType }: ObservationLimits,
): string | null {
  return count > recordsPerType
    ? `${count} records of type ${type} are more than LIMIT_RECORDS_PER_TYPE allows (${recordsPerType})`
    : null;
}

/** What response headers exceed, as a phrase that names the setting; null: they are within the limits. */
export function excessOfHeaders(
  headers: ReadonlyMap<string, string>,
  { headers: most, headerValue }: ObservationLimits,
): string | null {
  if (headers.size > most) return `${headers.size} headers are more than LIMIT_HEADERS allows (${most})`;
  for (const [name, value] of headers) {
    // A UTF-16 unit is at least one octet and at most three.
    if (value.length * 3 <= headerValue) continue;
    const octets = Buffer.byteLength(value);
    if (octets > headerValue) {
      return `the value of ${name} has ${octets} octets, more than LIMIT_HEADER_VALUE allows (${headerValue})`;
    }
  }
  return null;
}

/** @throws InvalidObservationError for an observation that exceeds a limit. */
export function requireWithinLimits(
  { dns, httpHeaders }: Pick<Observation, 'dns' | 'httpHeaders'>,
  limits: ObservationLimits,
): void {
  let records = 0;
  for (const [type, { length }] of dns?.records ?? []) {
    records += length;
    refuse('dnsRecords', excessOfRecords(type, length, limits));
  }
  if (records > limits.records) {
    refuse('dnsRecords', `${records} records are more than LIMIT_RECORDS allows (${limits.records})`);
  }
  if (httpHeaders !== undefined) refuse('httpHeaders', excessOfHeaders(httpHeaders, limits));
}

function refuse(key: string, excess: string | null): void {
  if (excess !== null)
    throw new InvalidObservationError(`${key}: ${excess}: set it higher to import the line.`);
}
