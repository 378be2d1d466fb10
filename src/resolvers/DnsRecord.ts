import type { DnsEntry } from '../loaders/dns-entries.js';
import { writeNodeId } from '../model/node-id.js';
import { graphqlTypeOf, RDATA_FIELDS } from '../model/rdata-fields.js';
import { rdataText } from '../model/rdata-presentation.js';
import { nameOfRecord } from './node-names.js';
import type { DnsRecordResolvers, DnsRecord as DnsRecordUnion } from './types.generated.js';

type MemberName = NonNullable<DnsRecordUnion['__typename']>;

/**
 * The type of an entry. Rdata that was stored as text because it is not of its DNS type stays so when that type gets
 * fields of its own.
 */
export function memberOf(entry: { readonly type: string }): MemberName {
  return 'data' in entry ? 'OtherRecord' : graphqlTypeOf(entry.type);
}

export const DnsRecord: DnsRecordResolvers = { __resolveType: memberOf };

/** The properties of entries by the fields that have another name: entries have the names of the specification. */
export const RENAMED_FIELDS: ReadonlyMap<string, string> = new Map(
  [...RDATA_FIELDS.values()]
    .flat()
    .flatMap(({ name, graphqlName }) => (name === graphqlName ? [] : [[graphqlName, name]])),
);

/** The resolvers of entries, by type: those of these fields, and of what follows from the other properties. */
export const recordResolvers = Object.fromEntries([
  ['OtherRecord', { id: idOfRecord }],
  ...Array.from(RDATA_FIELDS, ([type, fields]) => [
    graphqlTypeOf(type),
    {
      id: idOfRecord,
      data: dataOfRecord,
      ...Object.fromEntries(
        fields
          .filter(({ name, graphqlName }) => name !== graphqlName)
          .map(({ name, graphqlName }) => [
            graphqlName,
            (entry: object): unknown => Reflect.get(entry, name),
          ]),
      ),
    },
  ]),
]);

function idOfRecord(entry: DnsEntry): string {
  return writeNodeId(nameOfRecord(entry));
}

/** The rdata as text, of an entry whose type has fields of its own too. */
function dataOfRecord(entry: DnsEntry): string {
  return rdataText(entry.type, { ...entry });
}
