/** The body of Get domain (specification, 2), byte for byte. */

import type { DomainHistory, Entry, HeaderItem } from './domain-history.js';
import { ownFields } from './observation.js';

export function body(history: DomainHistory): string {
  return JSON.stringify({
    domain: history.domain,
    created: history.created,
    lastUpdate: history.lastUpdate,
    dnsRecords: [...history.entries].sort(compareEntries),
    httpHeaders: [...history.headers].sort(([one], [other]) => compareValues(one, other)).map(headerEntry),
  });
}

export function diffBody(
  before: DomainHistory | undefined,
  after: DomainHistory | undefined,
  question: { readonly domain: string; readonly from: string; readonly to: string },
): string {
  const entries = [...(after?.entries ?? [])].sort(compareEntries);
  const keysOf = ({ entries: all = [] }: Partial<DomainHistory> = {}) =>
    new Set(all.flatMap(({ data, removed }) => (removed === null ? [JSON.stringify(data)] : [])));
  const [old, now] = [keysOf(before), keysOf(after)];
  const headers = new Set([...(before?.present.keys() ?? []), ...(after?.present.keys() ?? [])]);
  return JSON.stringify({
    ...question,
    dnsRecordsAdded: entries.filter(
      ({ data, removed }) => removed === null && !old.has(JSON.stringify(data)),
    ),
    // Of several stays the one that was not over at the earlier time, and had begun.
    dnsRecordsRemoved: entries.filter(({ data, firstSeen, removed }) => {
      const wasPresent = firstSeen <= question.from && removed !== null && removed > question.from;
      return wasPresent && !now.has(JSON.stringify(data));
    }),
    httpHeaders: [...headers].sort(compareValues).flatMap((name) => {
      const values = { old: before?.present.get(name) ?? null, new: after?.present.get(name) ?? null };
      if (values.old === values.new) return [];
      const difference = values.old === null ? 'ADDED' : values.new === null ? 'REMOVED' : 'CHANGED';
      return [{ name, difference, ...values }];
    }),
  });
}

/** In their order among changes of one time. */
export const CHANGE_KINDS = [
  ...['DNS_RECORD_ADDED', 'DNS_RECORD_REMOVED', 'HEADER_CREATED', 'HEADER_UPDATED', 'HEADER_GONE'],
  ...['HEADER_RETURNED', 'SITE_STATUS_CHANGED'],
];

/** The items of Domain changes, the oldest first. */
export function changeItems({ changes }: DomainHistory): { kind: string; date: string }[] {
  return [...changes]
    .sort(
      (one, other) =>
        compareValues(one.date, other.date) ||
        CHANGE_KINDS.indexOf(one.kind) - CHANGE_KINDS.indexOf(other.kind) ||
        (one.entry && other.entry ? compareEntries(one.entry, other.entry) : 0) ||
        compareValues(one.name, other.name),
    )
    .map(({ kind, date, source, routine, entry, name, old, new: value, lastSeen }) => {
      const isStatus = kind === 'SITE_STATUS_CHANGED';
      const values = isStatus
        ? { oldStatus: Number(old), newStatus: Number(value) }
        : { name, old, new: value };
      const what = entry === undefined ? values : { data: entry.data };
      return { kind, date, source, routine, ...what, ...(lastSeen !== undefined && { lastSeen }) };
    });
}

function headerEntry([name, items]: readonly [string, readonly HeaderItem[]]) {
  const history = items.map(({ date, value }, index) => ({
    event: index === 0 ? 'created' : 'updated',
    date,
    new: value,
    old: items[index - 1]?.value ?? null,
  }));
  return { name, value: items.at(-1)?.value, history };
}

/** By time, type, owner, and then the type's own fields in their order. */
function compareEntries(one: Entry, other: Entry): number {
  const keys = ['type', 'host', ...ownFields(one.data['type']), 'class'];
  const difference = keys.map((key) => compareValues(one.data[key], other.data[key])).find(Boolean) ?? 0;
  return compareValues(one.firstSeen, other.firstSeen) || difference;
}

type Value = string | number | string[] | undefined;

/** Numbers as numbers, texts by their UTF-8 bytes, lists by their first difference, a list before its continuation. */
function compareValues(one: Value, other: Value): number {
  if (typeof one === 'number' && typeof other === 'number') return one - other;
  if (Array.isArray(one) && Array.isArray(other)) {
    const differences = one.slice(0, other.length).map((value, index) => compareValues(value, other[index]));
    return differences.find(Boolean) ?? one.length - other.length;
  }
  return Buffer.compare(Buffer.from(String(one)), Buffer.from(String(other)));
}
