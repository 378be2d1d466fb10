import type { Body } from './body.js';
import { type DnsRecordResult, presentDnsRecords } from './dns-records.js';

/** What the stored operations on a domain find: besides the version what the body has, under its names and in its order. */
interface DomainResult {
  readonly version?: string;
  readonly dnsRecords?: readonly DnsRecordResult[];
}

/** Get domain (specification, 2.1). */
export const DOMAIN_HISTORY: Body = {
  name: 'DomainHistory',
  lists: ['dnsRecords', 'httpHeaders'],
  present: presentDomain,
};

/** Domain DNS info. */
export const DOMAIN_DNS_INFO: Body = { name: 'DomainDnsInfo', lists: ['dnsRecords'], present: presentDomain };

/** Domain details. */
export const DOMAIN_DETAILS: Body = { name: 'DomainDetails', present: presentDomain };

/** Domain HTTP headers. */
export const DOMAIN_HTTP_HEADERS: Body = {
  name: 'DomainHttpHeaders',
  lists: ['httpHeaders'],
  present: presentDomain,
};

function presentDomain({ version, ...selected }: DomainResult): object {
  const { dnsRecords } = selected;
  return dnsRecords === undefined
    ? selected
    : Object.assign(selected, { dnsRecords: presentDnsRecords(dnsRecords) });
}

/** What the stored operation of Domain diff finds. */
interface DiffResult {
  readonly domain: string;
  readonly diff: {
    readonly from: string;
    readonly to: string;
    readonly dnsRecordsAdded: readonly DnsRecordResult[];
    readonly dnsRecordsRemoved: readonly DnsRecordResult[];
    readonly httpHeaders: readonly object[];
  };
}

/** Domain diff. */
export const DOMAIN_DIFF: Body = {
  name: 'DomainDiff',
  present: ({ domain, diff }: DiffResult) => ({
    domain,
    from: diff.from,
    to: diff.to,
    dnsRecordsAdded: presentDnsRecords(diff.dnsRecordsAdded),
    dnsRecordsRemoved: presentDnsRecords(diff.dnsRecordsRemoved),
    httpHeaders: diff.httpHeaders,
  }),
};
