import {
  closedObject,
  count,
  listOf,
  type Schema,
  schemaReference,
  text,
  timestamp,
} from '../json-schema.js';
import type { RecordedState } from '../validators.js';
import { type DnsRecordResult, presentDnsRecords } from './dns-records.js';

/** The body of an answer. */
export interface Body {
  /** The name of its schema in the OpenAPI document. */
  readonly name: string;
  readonly schema: Schema;
  /**
   * Makes the body, with its keys in the order of the schema.
   *
   * @param found What the route's stored operation has found: of the type that the body is made from.
   */
  present(found: object): object;
}

/** What the stored operations on a domain find: each selects a part of it. */
interface DomainResult {
  readonly domain: string;
  readonly created: string;
  readonly lastUpdate: string;
  readonly dnsRecords: readonly DnsRecordResult[];
  readonly httpHeaders: readonly object[];
}

const START = {
  domain: text('The requested name in canonical form: lower-case A-labels, no final dot.', 'example.com'),
};
const TIMES = {
  created: timestamp('The time of the earliest observation of the domain.'),
  lastUpdate: timestamp(
    'The time of the latest observation of the domain, whether or not it changed anything.',
  ),
};
const DNS_RECORDS = {
  dnsRecords: listOf(
    schemaReference('DnsRecordEntry'),
    "All DNS records that were ever observed, ordered by `firstSeen`, then type, host, and the type's own fields.",
  ),
};
const HTTP_HEADERS = {
  httpHeaders: listOf(
    schemaReference('HttpHeaderEntry'),
    'All HTTP response headers that were ever observed, ordered by name.',
  ),
};

/** Get domain (specification, 2.1). */
export const DOMAIN_HISTORY: Body = {
  name: 'DomainHistory',
  schema: closedObject('Everything that was observed of a domain.', {
    ...{ ...START, ...TIMES, ...DNS_RECORDS, ...HTTP_HEADERS },
  }),
  present: ({ domain, created, lastUpdate, dnsRecords, httpHeaders }: DomainResult) => ({
    domain,
    created,
    lastUpdate,
    dnsRecords: presentDnsRecords(dnsRecords),
    httpHeaders,
  }),
};

/** Domain DNS info. */
export const DOMAIN_DNS_INFO: Body = {
  name: 'DomainDnsInfo',
  schema: closedObject('The DNS records of a domain.', { ...START, ...TIMES, ...DNS_RECORDS }),
  present: ({ domain, created, lastUpdate, dnsRecords }: DomainResult) => ({
    domain,
    created,
    lastUpdate,
    dnsRecords: presentDnsRecords(dnsRecords),
  }),
};

/** Domain details. */
export const DOMAIN_DETAILS: Body = {
  name: 'DomainDetails',
  schema: closedObject('A domain in brief.', {
    ...START,
    unicodeName: text('The name in Unicode.', 'example.com'),
    registrableDomain: {
      type: ['string', 'null'],
      description:
        'The domain that can be registered, by the Public Suffix List; null for a public suffix and where there is none.',
      examples: ['example.com'],
    },
    ...TIMES,
    lastChange: timestamp('The time of the latest change of any kind; `created` if there was none.'),
    dnsRecordCount: count('How many entries `dnsRecords` of Get domain has.'),
    httpHeaderCount: count('How many entries `httpHeaders` of Get domain has.'),
    changeCount: count(
      'How many changes there were: records added and removed; headers created, updated, gone and returned.',
    ),
  }),
  present: presentAsSelected,
};

/** Domain HTTP headers. */
export const DOMAIN_HTTP_HEADERS: Body = {
  name: 'DomainHttpHeaders',
  schema: closedObject('The HTTP response headers of a domain.', {
    ...{ ...START, ...TIMES, ...HTTP_HEADERS },
  }),
  present: presentAsSelected,
};

/** For operations that select, besides the version, just what the body shows, under its names and in its order. */
function presentAsSelected(found: object): object {
  const { version, ...selected }: object & Partial<RecordedState> = found;
  return selected;
}
