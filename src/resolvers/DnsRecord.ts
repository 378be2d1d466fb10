import type { DnsEntry } from '../loaders/dns-entries.js';
import { rdataText } from '../model/rdata-text.js';
import { graphqlTypeOf, RDATA_FIELDS, type RdataField } from '../model/rdata-types.js';
import { idOf as id } from './node-names.js';
import type { DnsRecordResolvers, DnsRecord as DnsRecordUnion } from './types.generated.js';

type MemberName = NonNullable<DnsRecordUnion['__typename']>;

/** The type of an entry. Rdata that was stored as text stays so when its DNS type gets fields of its own. */
export function memberOf(entry: { readonly type: string }): MemberName {
  return 'data' in entry ? 'OtherRecord' : graphqlTypeOf(entry.type);
}

export const DnsRecord: DnsRecordResolvers = { __resolveType: memberOf };

/** The rdata as text, of an entry whose type has fields of its own too. */
const data = (entry: DnsEntry): string => rdataText(entry.type, { ...entry });

/** The resolvers of entries, by type: entries have the specification's fields, some under other names. */
export const recordResolvers = Object.fromEntries([
  ['OtherRecord', { id }],
  ...Array.from(RDATA_FIELDS, ([type, fields]) => [graphqlTypeOf(type), { id, data, ...renamed(fields) }]),
]);

function renamed(fields: readonly RdataField[]): Readonly<Record<string, (entry: object) => unknown>> {
  return Object.fromEntries(
    fields
      .filter(({ name, graphqlName }) => name !== graphqlName)
      .map(({ name, graphqlName }) => [graphqlName, (entry) => Reflect.get(entry, name)]),
  );
}
