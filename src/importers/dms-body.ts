import { type DnsRecord, parseDnsRecord, recordsByType } from '../model/dns-record.js';
import { requireType } from '../model/dns-types.js';
import { InvalidObservationError } from '../model/errors.js';
import { addHeaderField, joinHeaderFields } from '../model/header-fields.js';
import { errorAt, isJsonObject, readAt, requireText, requireTexts } from '../model/json-values.js';
import type { DnsObservation, Observation } from '../model/observation.js';
import { parseSourceName, quoted } from '../model/text.js';

/** What a line says besides whose it is and from when. */
export type DmsBody = Pick<Observation, 'dns' | 'httpHeaders' | 'source'>;

/**
 * The body of a line of format `dms`.
 *
 * @param object The line's JSON object, whose keys are known ones.
 * @throws InvalidObservationError for one that cannot be taken; the message names the key.
 */
export function parseDmsBody(object: Readonly<Record<string, unknown>>): DmsBody {
  const { dnsRecords, httpHeaders, source } = object;
  const body: { -readonly [Key in keyof DmsBody]: DmsBody[Key] } = {};
  const dns = parseDns(dnsRecords, object['dnsTypes']);
  if (dns !== undefined) body.dns = dns;
  if (httpHeaders !== undefined) body.httpHeaders = parseHeaders(httpHeaders);
  if (source !== undefined) body.source = readAt('source', () => parseSourceName(requireText(source)));
  if (dnsRecords === undefined && httpHeaders === undefined) {
    throw new InvalidObservationError('it has neither dnsRecords nor httpHeaders: nothing was observed.');
  }
  return body;
}

function parseDns(dnsRecords: unknown, dnsTypes: unknown): DnsObservation | undefined {
  const types = dnsTypes === undefined ? undefined : readAt('dnsTypes', () => parseTypes(dnsTypes));
  if (dnsRecords !== undefined) {
    const records = recordsByType(parseRecords(dnsRecords, types));
    return types === undefined ? { records } : { types, records };
  }
  if (types === undefined) return undefined;
  throw new InvalidObservationError('dnsTypes: the line has no dnsRecords, the answer for these types.');
}

function parseTypes(value: unknown): ReadonlySet<string> {
  return new Set(requireTexts(value).map(requireType));
}

function parseRecords(value: unknown, types: ReadonlySet<string> | undefined): DnsRecord[] {
  if (!Array.isArray(value)) throw new InvalidObservationError('dnsRecords: it is not an array of records.');
  const records: DnsRecord[] = [];
  for (const data of value) {
    try {
      records.push(recordOfTypes(data, types));
    } catch (error) {
      throw errorAt(`dnsRecords[${records.length}]`, error);
    }
  }
  return records;
}

function recordOfTypes(data: unknown, types: ReadonlySet<string> | undefined): DnsRecord {
  const record = parseDnsRecord(data);
  if (types === undefined || types.has(record.type)) return record;
  throw new InvalidObservationError(`its type ${record.type} is not in dnsTypes.`);
}

function parseHeaders(value: unknown): ReadonlyMap<string, string> {
  if (!isJsonObject(value)) throw new InvalidObservationError('httpHeaders: it is not an object.');
  const headers = new Map<string, string[]>();
  for (const [name, values] of Object.entries(value)) {
    readAt(`httpHeaders[${quoted(name)}]`, () => addHeaderValues(headers, name, values));
  }
  return joinHeaderFields(headers);
}

function addHeaderValues(headers: Map<string, string[]>, name: string, values: unknown): void {
  if (typeof values === 'string') {
    addHeaderField(headers, name, values);
  } else if (Array.isArray(values)) {
    for (const value of requireTexts(values)) addHeaderField(headers, name, value);
  } else {
    throw new InvalidObservationError('it is neither a string nor an array of strings.');
  }
}
