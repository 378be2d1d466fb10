import type { Body } from './body.js';
import { type DnsRecordResult, presentDnsRecord } from './dns-records.js';

interface DomainResult {
  readonly version?: string;
  readonly dnsRecords?: readonly DnsRecordResult[];
}

function domainBody(name: string, ...lists: NonNullable<Body['lists']>): Body {
  return { name, lists, present: presentDomain };
}

export const DOMAIN_HISTORY = domainBody('DomainHistory', 'dnsRecords', 'httpHeaders');

export const DOMAIN_DNS_INFO = domainBody('DomainDnsInfo', 'dnsRecords');

export const DOMAIN_HTTP_HEADERS = domainBody('DomainHttpHeaders', 'httpHeaders');

export const DOMAIN_DETAILS: Body = { name: 'DomainDetails', present: presentDomain };

function presentDomain({ version, ...selected }: DomainResult): object {
  const { dnsRecords } = selected;
  return dnsRecords === undefined ? selected : { ...selected, dnsRecords: dnsRecords.map(presentDnsRecord) };
}

interface DiffResult {
  readonly domain: string;
  readonly diff: Readonly<Record<'dnsRecordsAdded' | 'dnsRecordsRemoved', readonly DnsRecordResult[]>>;
}

export const DOMAIN_DIFF: Body = {
  name: 'DomainDiff',
  present: ({ domain, diff }: DiffResult) => ({
    domain,
    ...diff,
    dnsRecordsAdded: diff.dnsRecordsAdded.map(presentDnsRecord),
    dnsRecordsRemoved: diff.dnsRecordsRemoved.map(presentDnsRecord),
  }),
};
