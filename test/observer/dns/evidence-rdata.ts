import { type DnsRecord, parseDnsRecord } from '../../../src/model/dns-record.js';
import {
  type Reader,
  rdataReader,
  WireError,
  type WireMessage,
  type WireRecord,
} from './evidence-message.js';

type Fields = Readonly<Record<string, unknown>>;

const target = (reader: Reader): Fields => ({ target: nameText(reader.name()) });

/** The fields of rdata (RFC 1035, section 3.3; 3596; 6672; 8659), by the number of the type. */
const FIELDS: ReadonlyMap<number, readonly [type: string, read: (reader: Reader) => Fields]> = new Map([
  [1, ['A', (reader) => ({ ip: [...reader.take(4)].join('.') })]],
  [2, ['NS', target]],
  [5, ['CNAME', target]],
  [6, ['SOA', soa]],
  [15, ['MX', (reader) => ({ pri: reader.uint16(), ...target(reader) })]],
  [16, ['TXT', (reader) => ({ entries: strings(reader) })]],
  [28, ['AAAA', (reader) => ({ ipv6: groups(reader.take(16)).join(':') })]],
  [39, ['DNAME', (reader) => ({ data: `${nameText(reader.name())}` })]],
  [257, ['CAA', caa]],
]);

/**
 * A record in the canonical form in which the program has it.
 *
 * @throws WireError where its rdata is not of its type, to the last octet.
 */
export function recordOf(message: WireMessage, record: WireRecord): DnsRecord {
  const [type, read] = FIELDS.get(record.type) ?? [];
  if (type === undefined || read === undefined) throw new WireError(`type ${record.type} is not judged`);
  const reader = rdataReader(message, record);
  const fields = read(reader);
  if (!reader.isAtEnd) throw new WireError('octets behind the rdata');
  return parseDnsRecord({ host: nameText(record.owner), class: 'IN', type, ...fields });
}

/** A key of a name as text. */
export function nameText(key: string): string {
  const labels: string[] = [];
  for (let at = 0; at < key.length - 1; at += 1 + key.charCodeAt(at)) {
    labels.push(escaped(key.slice(at + 1, at + 1 + key.charCodeAt(at)), /[^a-z0-9_*-]/g));
  }
  return labels.join('.') || '.';
}

/** `\DDD` for each octet that the pattern matches (RFC 1035, section 5.1). */
function escaped(octets: string, pattern: RegExp): string {
  return octets.replace(pattern, (octet) => `\\${String(octet.charCodeAt(0)).padStart(3, '0')}`);
}

function soa(reader: Reader): Fields {
  const [mname, rname] = [nameText(reader.name()), nameText(reader.name())];
  const [serial, refresh, retry, expire] = [reader, reader, reader, reader].map((one) => one.uint32());
  return { mname, rname, serial, refresh, retry, expire, 'minimum-ttl': reader.uint32() };
}

function caa(reader: Reader): Fields {
  const [flags, tag] = [reader.uint8(), reader.take(reader.uint8()).toString('latin1')];
  if (!/^[a-z0-9]+$/i.test(tag)) throw new WireError('a tag without letters');
  return { flags, tag, value: reader.rest().toString('latin1') };
}

function strings(reader: Reader): string[] {
  const entries = [];
  do entries.push(escaped(reader.take(reader.uint8()).toString('latin1'), /[^ -[\]-~]/g));
  while (!reader.isAtEnd);
  return entries;
}

function groups(octets: Buffer): string[] {
  return [0, 2, 4, 6, 8, 10, 12, 14].map((at) => octets.readUInt16BE(at).toString(16));
}
