import type { Change } from '../loaders/changes.js';
import type { DnsEntry } from '../loaders/dns-entries.js';
import type { HeaderEntry } from '../loaders/header-entries.js';
import { digestOfRecord, writeNodeId } from '../model/node-id.js';
import { rdataText } from '../model/rdata-text.js';
import { graphqlTypeOf, RDATA_FIELDS, type RdataField } from '../model/rdata-types.js';
import type { DnsRecordResolvers, DnsRecord as DnsRecordUnion } from './types.generated.js';

export type Entry = DnsEntry | HeaderEntry | Change;

/** That of a change has its date and kind, and the record or the header, or its number in the feed. */
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

/** The type of an entry. Rdata that was stored as text stays so when its DNS type gets fields of its own. */
export function memberOf(entry: { readonly type: string }): NonNullable<DnsRecordUnion['__typename']> {
  return 'data' in entry ? 'OtherRecord' : graphqlTypeOf(entry.type);
}

export const DnsRecord: DnsRecordResolvers = { __resolveType: memberOf };

const data = (entry: DnsEntry): string => rdataText(entry.type, { ...entry });

/** The resolvers of entries, by type: entries have the specification's fields, some under other names. */
export const recordResolvers = Object.fromEntries([
  ['OtherRecord', { id: idOf }],
  ...Array.from(RDATA_FIELDS, ([type, fields]) => [
    graphqlTypeOf(type),
    { id: idOf, data, ...renamed(fields) },
  ]),
]);

function renamed(fields: readonly RdataField[]): Readonly<Record<string, (entry: object) => unknown>> {
  return Object.fromEntries(
    fields
      .filter(({ name, graphqlName }) => name !== graphqlName)
      .map(({ name, graphqlName }) => [graphqlName, (entry) => Reflect.get(entry, name)]),
  );
}
