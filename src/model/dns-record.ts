import { attempt } from './attempt.js';
import { canonicalClass, requireType } from './dns-types.js';
import { InvalidObservationError } from './errors.js';
import { addTo } from './groups.js';
import { canonicalHostName } from './host-name.js';
import { isJsonObject, readAt, requireText, unknownKey } from './json-values.js';
import { memoized } from './memoized.js';
import { JOINED, rdataParser } from './rdata.js';
import type { RdataValue } from './rdata-codec.js';
import { rdataFields } from './rdata-types.js';
import { compareRdata, parseRdata } from './rdata-values.js';
import { compareUtf8 } from './utf8-order.js';

/** A DNS record in canonical form: two records are the same if and only if these four are equal. */
export interface DnsRecord {
  readonly host: string;
  readonly class: string;
  readonly type: string;
  /** The type's own fields as JSON text, in the order of the specification, without spaces. */
  readonly rdata: string;
}

/** A record as the specification's 2.3 shows it: the type's own fields follow the common ones. */
interface DnsRecordData extends Omit<DnsRecord, 'rdata'> {
  readonly [field: string]: RdataValue;
}

const COMMON_KEYS = ['host', 'class', 'type', 'ttl'];

/** By the name of a type as it was given: its own, the keys that its data objects may have, and its parser. */
const layoutOf = memoized((text: string) => {
  const type = requireType(text);
  const own = rdataFields(type).map(({ name }) => name);
  const keys = new Set([...COMMON_KEYS, ...own, 'data', ...(type === 'TXT' ? ['joined'] : [])]);
  return { type, keys, parseRdata: rdataParser(type) };
}, 256);

/**
 * A record from a data object of the specification's 2.3. Names, addresses and numbers may have any valid form; a `ttl`
 * is dropped. Instead of the fields of its type it may have `data`, the rdata as text. One of type TXT may have
 * `joined`: how its text is divided into strings is not known.
 *
 * @param data Parsed JSON.
 * @throws InvalidObservationError for anything but a complete object of its type; the message names the key.
 */
export function parseDnsRecord(data: unknown): DnsRecord {
  if (!isJsonObject(data)) throw new InvalidObservationError('a record must be a JSON object.');
  const layout = readAt('type', () => layoutOf(requireText(data['type'])));
  for (const key in data) {
    if (!layout.keys.has(key)) throw unknownKey(key, layout.keys, `in a record of type ${layout.type}`);
  }
  return {
    host: readAt('host', () => canonicalHostName(requireText(data['host']))),
    class: readAt('class', () => canonicalClass(requireText(data['class']))),
    type: layout.type,
    rdata: layout.parseRdata(data),
  };
}

/** The record as in responses, with its fields in the order of the specification (2.3). */
export function dnsRecordData(record: DnsRecord): DnsRecordData {
  return { host: record.host, class: record.class, type: record.type, ...parseRdata(record.rdata) };
}

/** Whether the strings of a TXT record were joined before it was read: where they are divided is not known. */
export function isJoined({ rdata }: DnsRecord): boolean {
  return rdata.endsWith(JOINED);
}

export function isCanonicalRecord(record: DnsRecord): boolean {
  const parsed = attempt(() => parseDnsRecord(dnsRecordData(record)));
  return parsed !== undefined && compareDnsRecords(parsed, record) === 0;
}

/** The order of records in responses: by type, host, own fields (compareRdata), and class; 0 only for the same record. */
export function compareDnsRecords(a: DnsRecord, b: DnsRecord): number {
  return (
    compareUtf8(a.type, b.type) ||
    compareUtf8(a.host, b.host) ||
    compareRdata(a.type, a.rdata, b.rdata) ||
    compareUtf8(a.class, b.class)
  );
}

/** Records by their type, as an observation holds them: in the order of compareDnsRecords, each of them once. */
export function recordsByType(records: Iterable<DnsRecord>): Map<string, readonly DnsRecord[]> {
  const byType = new Map<string, DnsRecord[]>();
  for (const record of records) addTo(byType, record.type, record);
  for (const [type, group] of byType) byType.set(type, group.sort(compareDnsRecords).filter(isFirst));
  return byType;
}

function isFirst(record: DnsRecord, at: number, sorted: readonly DnsRecord[]): boolean {
  const before = sorted[at - 1];
  return before === undefined || compareDnsRecords(before, record) !== 0;
}
