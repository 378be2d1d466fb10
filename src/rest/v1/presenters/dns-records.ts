import { graphqlTypeOf, OTHER_RDATA_FIELDS, RDATA_FIELDS, rdataFields } from '../../../model/rdata-types.js';

/** An entry of a DNS record as the stored operations give it: its type decides which further fields it has. */
export interface DnsRecordResult extends Readonly<Record<'host' | 'class' | 'type' | 'firstSeen', string>> {
  readonly removed: string | null;
  readonly [field: string]: unknown;
}

export interface RecordWithText extends DnsRecordResult {
  readonly rdata: string;
  /** For tables, and the command line. */
  readonly lastSeen?: string;
}

/** The fragment that stored operations select an entry by: every field of every type. */
export function dnsRecordFragment(): string {
  const members = [...RDATA_FIELDS, ['OTHER', OTHER_RDATA_FIELDS] as const].map(([type, fields]) => {
    const selected = fields.map(({ graphqlName }) => graphqlName).join(' ');
    return `... on ${graphqlTypeOf(type)} { ${selected} }`;
  });
  const common = '... on DnsRecordEntry { host class type firstSeen removed }';
  return `fragment DnsRecordFields on DnsRecord { ${common} ${members.join(' ')} }`;
}

/** A DNS record entry of a body (specification, 2.2 and 2.3). */
export function presentDnsRecord(entry: DnsRecordResult) {
  type Data = Record<string, unknown> & Pick<DnsRecordResult, 'host' | 'class' | 'type'>;
  const data: Data = { host: entry.host, class: entry.class, type: entry.type };
  const fields = 'data' in entry ? OTHER_RDATA_FIELDS : rdataFields(entry.type);
  for (const { name, graphqlName } of fields) data[name] = entry[graphqlName];
  return { data, firstSeen: entry.firstSeen, removed: entry.removed };
}
