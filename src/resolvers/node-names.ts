import type { Change } from '../loaders/changes.js';
import type { DnsEntry } from '../loaders/dns-entries.js';
import type { HeaderEntry } from '../loaders/header-entries.js';
import { digestOfRecord, writeNodeId } from '../model/node-id.js';

export type Entry = DnsEntry | HeaderEntry | Change;

/**
 * The id of an entry. Of a record it has when that was first seen, its type, and which of those it is; of a
 * change its date and kind, and the record or the header, or its number in the feed.
 */
export function idOf(entry: Entry): string {
  if ('kind' in entry) {
    const { domain, asOf, kind, date, record, name, at } = entry;
    const what = record === undefined ? [name ?? String(at.firstSeen)] : keyOfRecord(record);
    return writeNodeId({ kind: 'change', domain, at: asOf, key: [kind, String(date), ...what] });
  }
  const { domain, at } = entry.of;
  if ('history' in entry) return writeNodeId({ kind: 'header', domain, at, key: [entry.name] });
  return writeNodeId({ kind: 'record', domain, at, key: keyOfRecord(entry) });
}

function keyOfRecord({ firstSeen, removed: _removed, lastSeen: _lastSeen, of: _of, ...record }: DnsEntry) {
  const { host, class: ofClass, type, ...rdata } = record;
  const digest = digestOfRecord(type, ofClass, host, JSON.stringify(rdata));
  return [String(firstSeen), type, digest];
}
