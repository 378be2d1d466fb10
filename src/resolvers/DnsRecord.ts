import type { DnsRecordResolvers, DnsRecord as DnsRecordUnion } from './types.generated.js';

type MemberName = NonNullable<DnsRecordUnion['__typename']>;

/** The member of the union for each DNS type that has fields of its own. */
const MEMBER_OF_TYPE: ReadonlyMap<string, MemberName> = new Map([
  ['A', 'ARecord'],
  ['AAAA', 'AaaaRecord'],
  ['NS', 'NsRecord'],
  ['SOA', 'SoaRecord'],
  ['TXT', 'TxtRecord'],
  ['CNAME', 'CnameRecord'],
  ['MX', 'MxRecord'],
  ['SRV', 'SrvRecord'],
  ['CAA', 'CaaRecord'],
  ['PTR', 'PtrRecord'],
  ['NAPTR', 'NaptrRecord'],
  ['HINFO', 'HinfoRecord'],
]);

/** The member of the union that a record of a DNS type is. */
export function memberOf({ type }: { readonly type: string }): MemberName {
  return MEMBER_OF_TYPE.get(type) ?? 'OtherRecord';
}

export const DnsRecord: DnsRecordResolvers = { __resolveType: memberOf };
