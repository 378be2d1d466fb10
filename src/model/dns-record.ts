import { attempt } from './attempt.js';
import { characterStringOctets, characterStringText, stringsOf } from './character-string.js';
import { canonicalClass, requireType } from './dns-types.js';
import { invalidValue } from './errors.js';
import { addTo } from './groups.js';
import { canonicalHostName } from './host-name.js';
import { isJsonObject, type Json, readAt, requireKey, requireText, requireTexts } from './json-values.js';
import { memoized } from './memoized.js';
import { MAX_RDATA, type RdataValue } from './rdata-codec.js';
import { parseRdataText } from './rdata-text.js';
import { parseRdata, RDATA_FIELDS, type RdataField, rdataFields } from './rdata-types.js';
import { compareUtf8 } from './utf8-order.js';

/** A DNS record in canonical form: two records are the same if and only if these four are equal. */
export interface DnsRecord {
  readonly host: string;
  readonly class: string;
  readonly type: string;
  /** The type's own fields as JSON text, in the order of the specification, without spaces. */
  readonly rdata: string;
}

/** By the name of a type as it was given. The parser gives the own fields in canonical form, as JSON text. */
const layoutOf = memoized((text: string) => {
  const type = requireType(text);
  const own = rdataFields(type).map(({ name }) => name);
  const joined = type === 'TXT' ? ['joined'] : [];
  const keys = new Set(['host', 'class', 'type', 'ttl', ...own, 'data', ...joined]);
  return { type, keys, owner: `in a record of type ${type}`, parseRdata: rdataParser(type) };
}, 256);

/**
 * A record from a data object (parsed JSON) of the specification's 2.3. Names, addresses and numbers may have
 * any valid form; a `ttl` is dropped. Instead of the fields of its type it may have `data`, the rdata as
 * text. One of type TXT may have `joined`: how its text is divided into strings is not known.
 *
 * @throws InvalidObservationError for anything but a complete object of its type; the message names the key.
 */
export function parseDnsRecord(data: unknown): DnsRecord {
  if (!isJsonObject(data)) throw invalidValue('a record must be a JSON object.');
  const layout = readAt('type', () => layoutOf(requireText(data['type'])));
  for (const key in data) requireKey(key, layout.keys, layout.owner);
  return {
    host: readAt('host', () => canonicalHostName(requireText(data['host']))),
    class: readAt('class', () => canonicalClass(requireText(data['class']))),
    type: layout.type,
    rdata: layout.parseRdata(data),
  };
}

function rdataParser(type: string): (data: Json) => string {
  const fields = RDATA_FIELDS.get(type);
  if (fields === undefined) {
    const parseData = ({ data }: Json) =>
      readAt('data', () => JSON.stringify({ data: parseRdataText(type, requireText(data))['data'] }));
    // The number of types with `data` is not bounded, and each has a cache.
    return cachedParser('data', parseData, type === 'DS' ? undefined : 256);
  }
  const [first] = fields;
  const parseFields = type === 'TXT' ? textJson : (data: Json) => fieldsJson(fields, data);
  const parse = fields.length === 1 && first ? cachedParser(first.name, parseFields) : parseFields;
  return (data) => parse(data['data'] === undefined ? data : fieldsOfData(type, fields, data));
}

/** Most records have one text: with a cache, each costs a look-up. */
function cachedParser(name: string, parse: (data: Json) => string, limit?: number): typeof parse {
  const cached = memoized((text: string) => parse({ [name]: text }), limit);
  return (data) => {
    const value = data[name];
    return typeof value === 'string' ? cached(value) : parse(data);
  };
}

function fieldsOfData(type: string, fields: readonly RdataField[], { data, joined, ...others }: Json): Json {
  return readAt('data', () => {
    const other = fields.find(({ name }) => others[name] !== undefined);
    if (other === undefined) return { ...parseRdataText(type, requireText(data)), joined };
    throw invalidValue(`the record has ${other.name} too: write data or the fields of ${type}.`);
  });
}

function fieldsJson(fields: readonly RdataField[], data: Json): string {
  const values: Record<string, unknown> = {};
  for (const { name, codec } of fields) values[name] = readAt(name, () => codec?.canonical(data[name]));
  const json = JSON.stringify(values);
  // A UTF-16 unit takes three octets at most: nearly all rdata is short enough by this check alone.
  if (json.length * 3 > MAX_RDATA) requireRdataLength(Buffer.byteLength(Object.values(values).join('')));
  return json;
}

function requireRdataLength(octets: number): void {
  if (octets <= MAX_RDATA) return;
  throw invalidValue(`its data is longer than ${MAX_RDATA} octets.`);
}

/** After the own fields of such a TXT record. */
const JOINED = ',"joined":true}';

/**
 * Both own fields of a TXT record, of which one is enough: a `txt` alone is one entry, and `entries` alone are
 * joined. Where it is not known how they are divided, each entry but the last is as long as it can be.
 */
function textJson({ txt, entries, joined = false }: Json): string {
  const isAlone = entries === undefined;
  const given = readAt(isAlone ? 'txt' : 'entries', () =>
    (isAlone ? [requireText(txt)] : requireTexts(entries)).map(characterStringOctets),
  );
  const octets = Buffer.concat(given);
  if (!isAlone && txt !== undefined)
    readAt('txt', () => requireJoined(requireText(txt), requireTexts(entries), octets));
  const strings = joined === true ? stringsOf(octets) : given;
  // Each character-string has a length octet before it.
  requireRdataLength(octets.length + strings.length);
  if (typeof joined !== 'boolean') throw invalidValue('joined: it must be true or false.');
  const json = JSON.stringify({
    txt: characterStringText(octets),
    entries: strings.map(characterStringText),
  });
  return joined ? json.slice(0, -1) + JOINED : json;
}

function requireJoined(txt: string, entries: readonly string[], joined: Buffer): void {
  if (txt === entries.join('') || characterStringOctets(txt).equals(joined)) return;
  throw invalidValue('it is not the entries joined.');
}

/** As the specification's 2.3 shows it: the type's own fields follow the common ones. */
export function dnsRecordData(record: DnsRecord): Omit<DnsRecord, 'rdata'> & Json {
  return { host: record.host, class: record.class, type: record.type, ...parseRdata(record.rdata) };
}

/** Whether it is not known where the strings of a TXT record were divided. */
export function isJoined({ rdata }: DnsRecord): boolean {
  return rdata.endsWith(JOINED);
}

export function isCanonicalRecord(record: DnsRecord): boolean {
  const parsed = attempt(() => parseDnsRecord(dnsRecordData(record)));
  return parsed !== undefined && compareDnsRecords(parsed, record) === 0;
}

/** The order of records in responses: by type, host, own fields and class; 0 only for the same record. */
export function compareDnsRecords(a: DnsRecord, b: DnsRecord): number {
  return (
    compareUtf8(a.type, b.type) ||
    compareUtf8(a.host, b.host) ||
    compareRdata(a.type, a.rdata, b.rdata) ||
    compareUtf8(a.class, b.class)
  );
}

const memoizedValues = memoized(parseRdata, 4096);

/** By the own fields: numbers as numbers, texts by their UTF-8 bytes, lists element by element. */
function compareRdata(type: string, a: string, b: string): number {
  if (a === b) return 0;
  const fields = rdataFields(type);
  // Most records have one text, without escapes: it ends before `"}`, and need not be parsed.
  if (fields.length === 1 && !a.includes('\\') && !b.includes('\\')) return compareUtf8(a, b, 2);
  const [left, right] = [memoizedValues(a), memoizedValues(b)];
  for (const { name } of fields) {
    const order = compareValues(left[name], right[name]);
    if (order !== 0) return order;
  }
  // Rdata that was stored as text before its type had fields.
  return compareUtf8(a, b);
}

function compareValues(a: RdataValue | undefined, b: RdataValue | undefined): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (typeof a === 'string' && typeof b === 'string') return compareUtf8(a, b);
  if (!(Array.isArray(a) && Array.isArray(b))) return 0;
  const place = a.findIndex((text, at) => text !== b[at]);
  if (place === -1 || place >= b.length) return a.length - b.length;
  return compareUtf8(a[place], b[place]);
}

/** Each once, in the order of compareDnsRecords. */
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
