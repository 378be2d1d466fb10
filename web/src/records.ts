import type { RecordEntryFragment } from './operations.generated.js';

/** The entry of a DNS record. */
export type RecordEntry = RecordEntryFragment;

const COMMON: ReadonlySet<string> = new Set([
  ...['host', 'class', 'type', 'firstSeen', 'lastSeen', 'removed', '__typename'],
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

const FIRST_TYPES = ['SOA', 'NS', 'A', 'AAAA', 'CNAME', 'MX', 'TXT', 'CAA', 'HTTPS', 'SVCB', 'SRV', 'DS'];

/** Compares types in the order in which people look for them. */
export function compareTypes(one: string, other: string): number {
  const rank = (type: string) => {
    const place = FIRST_TYPES.indexOf(type);
    return place === -1 ? FIRST_TYPES.length : place;
  };
  return rank(one) - rank(other) || (one < other ? -1 : Number(one > other));
}
