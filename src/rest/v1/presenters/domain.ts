import type { Instant } from '../../../model/instant.js';
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
import type { PageBody } from './page.js';

/** The body of an answer. */
export interface Body {
  /** The name of its schema in the OpenAPI document. */
  readonly name: string;
  readonly schema: Schema;
  /**
   * Makes the body, with its keys in the order of the schema.
   *
   * @param found What the route's stored operation has found: of the type that the body is made from.
   * @param countedFrom What the durations of the question are counted back from; null: it has none.
   */
  present(found: object, countedFrom: Instant | null): object;
  /** Absent: it is no page of a list. */
  readonly page?: PageBody;
  /** The lists that it has whole, however long they are; absent: none. */
  readonly lists?: readonly ('dnsRecords' | 'httpHeaders')[];
}

/** What the stored operations on a domain find: each selects a part of it. */
interface DomainResult {
  readonly domain: string;
  readonly created: string;
  readonly lastUpdate: string;
  readonly dnsRecords: readonly DnsRecordResult[];
  readonly httpHeaders: readonly object[];
}

export const START = {
  domain: text('The requested name in canonical form: lower-case A-labels, no final dot.', 'example.com'),
};
/** An example of a time before that of every other one. */
export const EARLIER = '2023-01-10T08:00:00.000000Z';

const TIMES = {
  created: timestamp('The time of the earliest observation of the domain.', EARLIER),
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
  lists: ['dnsRecords', 'httpHeaders'],
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
  lists: ['dnsRecords'],
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
  lists: ['httpHeaders'],
  schema: closedObject('The HTTP response headers of a domain.', {
    ...{ ...START, ...TIMES, ...HTTP_HEADERS },
  }),
  present: presentAsSelected,
};

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
  schema: closedObject('The net difference between the states of a domain at two times.', {
    ...START,
    from: timestamp('The earlier time.', EARLIER),
    to: timestamp('The later time.'),
    dnsRecordsAdded: listOf(
      schemaReference('DnsRecordEntry'),
      'The DNS records that are present at `to` and not at `from`, as of `to`, in the order of Get domain.',
    ),
    dnsRecordsRemoved: {
      ...listOf(
        schemaReference('DnsRecordEntry'),
        'The DNS records that are present at `from` and not at `to`, as of `to`: with their removal.',
      ),
      examples: [[]],
    },
    httpHeaders: listOf(
      closedObject('A header that is not the same at both times.', {
        name: text('The name of the header, in lower case.', 'server'),
        difference: {
          type: 'string',
          enum: ['ADDED', 'CHANGED', 'REMOVED'],
          description: 'Present at `to` only, at both with different values, or at `from` only.',
        },
        old: { type: ['string', 'null'], description: 'The value at `from`; null if it was not present.' },
        new: {
          type: ['string', 'null'],
          description: 'The value at `to`; null if it was not present.',
          examples: ['nginx'],
        },
      }),
      'The HTTP response headers that are not the same at both times, ordered by name.',
    ),
  }),
  present: ({ domain, diff }: DiffResult) => ({
    domain,
    from: diff.from,
    to: diff.to,
    dnsRecordsAdded: presentDnsRecords(diff.dnsRecordsAdded),
    dnsRecordsRemoved: presentDnsRecords(diff.dnsRecordsRemoved),
    httpHeaders: diff.httpHeaders,
  }),
};

/** For operations that select, besides the version, just what the body shows, under its names and in its order. */
function presentAsSelected(found: object): object {
  const { version, ...selected }: object & Partial<RecordedState> = found;
  return selected;
}
