/** A line of the import format `dms`, read into an observation in canonical form. */

import { domainName, hostName, ipv4, ipv6, timestamp, txtBytes, txtText } from './canonical.js';

/** Host, class, type, then the own fields. */
export type RecordData = Record<string, string | number | string[]>;

export interface Observation {
  readonly domain: string;
  readonly time: string;
  /** Undefined: DNS was not observed. */
  readonly records: RecordData[] | undefined;
  /** Undefined: every type was asked and answered. */
  readonly types: string[] | undefined;
  /** Undefined: HTTP was not observed. */
  readonly headers: Map<string, string> | undefined;
  /** Of the site's response; undefined: not observed. */
  readonly status: number | undefined;
  /** Null: the line does not say. */
  readonly source: string | null;
}

/** The own fields of each type (specification, 2.3; the others as PHP's dns_get_record names them). */
const OWN_FIELDS = new Map(
  Object.entries({
    A: 'ip',
    AAAA: 'ipv6',
    NS: 'target',
    CNAME: 'target',
    PTR: 'target',
    MX: 'pri target',
    TXT: 'txt entries',
    CAA: 'flags tag value',
    HINFO: 'cpu os',
    SRV: 'pri weight port target',
    SOA: 'mname rname serial refresh retry expire minimum-ttl',
    NAPTR: 'order pref flags services regex replacement',
  }),
);

/** The own fields that hold a host name, and so are compared without regard to case and final dot. */
const HOST_NAME_FIELDS = ['target', 'mname', 'rname', 'replacement'];

/** The types without fields of their own whose `data` ends in hexadecimal, and how much stands before it. */
const HEXADECIMAL_AFTER = new Map(Object.entries({ DS: 3, CDS: 3, TLSA: 3, SSHFP: 2 }));

/** @param line One that an import takes. @throws Error where it lacks what every observation has. */
export function readObservation(line: string): Observation {
  const { domain, observedAt, dnsRecords, dnsTypes, httpHeaders, site, source } = JSON.parse(line);
  if (dnsRecords === undefined && httpHeaders === undefined) throw new Error('nothing was observed');
  return {
    domain: domainName(domain),
    time: timestamp(observedAt),
    records: dnsRecords?.map(recordData),
    types: dnsTypes,
    headers: httpHeaders === undefined ? undefined : headerValues(httpHeaders),
    status: site?.status,
    source: source ?? null,
  };
}

export function ownFields(type: unknown): string[] {
  return (OWN_FIELDS.get(String(type)) ?? 'data').split(' ');
}

/** Its keys are in the order of the answer. */
function recordData(record: RecordData): RecordData {
  const type = textOf(record, 'type');
  const data: RecordData = { host: hostName(textOf(record, 'host')), class: textOf(record, 'class'), type };
  if (type === 'TXT') return { ...data, ...txtFields([record['entries'] ?? textOf(record, 'txt')].flat()) };
  for (const field of ownFields(type)) data[field] = ownValue(record, type, field);
  return data;
}

function textOf(record: RecordData, field: string): string {
  const value = record[field];
  if (typeof value !== 'string') throw new Error(`a record's ${field} is no text`);
  return value;
}

function txtFields(entries: readonly (string | number)[]): RecordData {
  const segments = entries.map((entry) => txtBytes(String(entry)));
  return { txt: txtText(Buffer.concat(segments)), entries: segments.map(txtText) };
}

function ownValue(record: RecordData, type: string, field: string): string | number {
  if (typeof record[field] === 'number') return record[field];
  const text = textOf(record, field);
  if (HOST_NAME_FIELDS.includes(field)) return hostName(text);
  if (field === 'ip') return ipv4(text);
  if (field === 'ipv6') return ipv6(text);
  if (field !== 'data') return text;
  return dataText(text.trim().split(/\s+/), type);
}

/** The hexadecimal of DS and its like, and of RFC 3597, may stand in pieces: it is one, in upper case. */
function dataText(parts: readonly string[], type: string): string {
  const before = parts[0] === '\\#' ? 2 : (HEXADECIMAL_AFTER.get(type) ?? parts.length);
  const hexadecimal = parts.slice(before).join('').toUpperCase();
  return [...parts.slice(0, before), hexadecimal].filter((part) => part !== '').join(' ');
}

/** By lower-case name; several values of one name are one text, in the order given. */
function headerValues(headers: Record<string, string | string[]>): Map<string, string> {
  const values = new Map<string, string[]>();
  for (const [name, given] of Object.entries(headers)) {
    const key = name.toLowerCase();
    values.set(key, [...(values.get(key) ?? []), ...[given].flat().map((value) => value.trim())]);
  }
  // What is joined of empty values is trimmed, too.
  return new Map([...values].map(([name, texts]) => [name, texts.join(', ').trim()]));
}
