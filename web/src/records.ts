import type { RecordEntryFragment } from './operations.generated.js';

/** The entry of a DNS record. */
export type RecordEntry = RecordEntryFragment;

const COMMON: ReadonlySet<string> = new Set([
  ...['host', 'class', 'type', 'rdata', 'firstSeen', 'lastSeen', 'removed', '__typename'],
]);

/** The fields of a record's type, in their order. */
export function rdataOf(record: RecordEntry): readonly (readonly [name: string, value: unknown])[] {
  return Object.entries(record).filter(([name]) => !COMMON.has(name));
}

/** The fields that are texts of any length. */
const TEXTS: ReadonlySet<string> = new Set([...['value', 'naptrFlags', 'services', 'regex', 'cpu', 'os']]);

/** Records are read many times while a history is loaded. */
const texts = new WeakMap<RecordEntry, string>();

/** The rdata as text, like that of a master file (RFC 1035, section 5.1). */
export function textOf(record: RecordEntry): string {
  const text = texts.get(record) ?? presentationOf(record);
  texts.set(record, text);
  return text;
}

function presentationOf(record: RecordEntry): string {
  return rdataOf(record)
    .map(([name, value]) => {
      if (Array.isArray(value)) return value.map((entry) => JSON.stringify(entry)).join(' ');
      return TEXTS.has(name) ? JSON.stringify(value) : String(value);
    })
    .join(' ');
}

/** Identifies an entry among those of its domain. */
export function keyOf(record: RecordEntry): string {
  return `${record.firstSeen} ${rrsetOf(record)} ${textOf(record)}`;
}

/** The name of a record's RRset. */
export function rrsetOf({ type, host }: Pick<RecordEntry, 'type' | 'host'>): string {
  return `${type} ${host}`;
}

/** Parameters of the address of a search. */
export type Search = Readonly<Record<string, string>>;

/** A part of a field's value, and the search for all who have it; null: it is not searched for. */
export interface FieldPart {
  readonly text: string;
  readonly search: Search | null;
}

const HOST_NAMES: ReadonlySet<string> = new Set(['target', 'mname', 'rname', 'replacement']);

/** A field's value, with the addresses and host names in it. */
export function partsOf(record: RecordEntry, name: string, value: string): readonly FieldPart[] {
  if (name === 'ip' || name === 'ipv6') return [{ text: value, search: { ip: value } }];
  // The API does not search the root as a replacement: it says that there is none.
  if (name === 'replacement' && value === '.') return [{ text: value, search: null }];
  if (HOST_NAMES.has(name)) return [{ text: value, search: { target: value } }];
  if ('tag' in record && name === 'value' && /^issue/i.test(record.tag)) return partsOfIssuer(value);
  if (name === 'data')
    return Array.from(value.matchAll(TOKENS), ([text]) => ({ text, search: searchOf(record.type, text) }));
  return [{ text: value, search: null }];
}

/** The certification authority comes before its parameters (RFC 8659, section 4.2). */
function partsOfIssuer(value: string): FieldPart[] {
  const [, blanks = '', issuer = '', rest = ''] = /^(\s*)([\w.-]*)(.*)$/s.exec(value) ?? [];
  const isIssuer = issuer !== '' && /^\s*(?:;|$)/.test(rest);
  return [
    { text: blanks, search: null },
    { text: issuer, search: isIssuer ? { target: issuer } : null },
    { text: rest, search: null },
  ].filter(({ text }) => text !== '');
}

/** Of rdata as master files have it: quoted texts, what may be an address or a name, and what is between them. */
const TOKENS = /"(?:[^"\\]|\\.)*"|[^\s",=]+|[\s,=]+|"/gs;
const OCTET = '(?:25[0-5]|2[0-4]\\d|1?\\d?\\d)';
const IPV4 = new RegExp(`^${OCTET}(?:\\.${OCTET}){3}$`);

function searchOf(type: string, token: string): Search | null {
  if (IPV4.test(token) || isIpv6(token)) return { ip: token };
  // Names have a final dot there, and the root alone is no host.
  if (token.startsWith('"') || !/^.+\.$/s.test(token)) return null;
  const name = token.slice(0, -1);
  // Of other types, such as RP, it leads to all that the page finds for a name.
  return NAMING.has(type) ? { target: name } : { q: name };
}

/** The types without fields of their own whose names the API searches. */
const NAMING: ReadonlySet<string> = new Set('AFSDB DNAME HTTPS KX LP RT SVCB'.split(' '));

function isIpv6(token: string): boolean {
  return /:.*:/.test(token) && URL.canParse(`http://[${token}]`);
}

const FIRST_TYPES = ['SOA', 'NS', 'A', 'AAAA', 'CNAME', 'MX', 'TXT', 'CAA', 'HTTPS', 'SVCB', 'SRV', 'DS'];

/** Compares types in the order in which people look for them. */
export function compareTypes(one: string, other: string): number {
  const rank = (type: string) => {
    const place = FIRST_TYPES.indexOf(type);
    return place === -1 ? FIRST_TYPES.length : place;
  };
  return rank(one) - rank(other) || (one < other ? -1 : Number(one > other));
}
