import type { Change } from '../loaders/change-rows.js';
import type { DnsEntry, OfDomain } from '../loaders/dns-entries.js';
import type { HeaderEntry } from '../loaders/header-entries.js';
import { digestOfRecord, type NodeName } from '../model/node-id.js';

// What ids say of what a domain has.

/** When a record was first seen, its type, and which of those it is. */
export function nameOfRecord(entry: DnsEntry): NodeName {
  return { kind: 'record', ...ofEntry(entry), key: [...keyOfRecord(entry)] };
}

export function nameOfHeader(header: HeaderEntry): NodeName {
  return { kind: 'header', ...ofEntry(header), key: [header.name] };
}

/** A change's date and kind, and the record or the header, or its number in the feed. */
export function nameOfChange({ domain, asOf, kind, date, record, name, at }: Change): NodeName {
  const what = record === undefined ? [name ?? String(at.firstSeen)] : keyOfRecord(record);
  return { kind: 'change', domain, at: asOf, key: [kind, String(date), ...what] };
}

function keyOfRecord({ firstSeen, removed: _removed, lastSeen: _lastSeen, of: _of, ...record }: DnsEntry) {
  const { host, class: ofClass, type, ...rdata } = record;
  const digest = digestOfRecord(type, ofClass, host, JSON.stringify(rdata));
  return [String(firstSeen), type, digest] as const;
}

function ofEntry({ of: { domain, at } }: { readonly of: OfDomain }): OfDomain {
  return { domain, at };
}
