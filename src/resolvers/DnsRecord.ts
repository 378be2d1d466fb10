import { graphqlTypeOf } from '../model/rdata-fields.js';
import type { DnsRecordResolvers, DnsRecord as DnsRecordUnion } from './types.generated.js';

type MemberName = NonNullable<DnsRecordUnion['__typename']>;

/**
 * The member of the union that an entry is. Rdata that was stored as text, and is none of its type, stays so when
 * the type gets fields of its own.
 */
export function memberOf(entry: { readonly type: string }): MemberName {
  return 'data' in entry ? 'OtherRecord' : graphqlTypeOf(entry.type);
}

export const DnsRecord: DnsRecordResolvers = { __resolveType: memberOf };
