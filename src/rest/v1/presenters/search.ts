import { DOMAIN_COLUMNS, STAY_COLUMNS } from '../../../model/csv.js';
import { closedObject, listOf, schemaReference, text, timestamp, timestampOrNull } from '../json-schema.js';
import { presentDnsRecord, RDATA, type RecordWithText } from './dns-records.js';
import { type Body, EARLIER, START } from './domain.js';
import { NEXT, nextOf, type PageBody, type PageResult } from './page.js';

interface RecordMatchResult {
  readonly domain: { readonly name: string };
  readonly record: RecordWithText;
  /** For tables. */
  readonly source?: string | null;
}

const RECORD_PAGE: PageBody = {
  pageIn: (page: PageResult<RecordMatchResult>) => page,
  itemsIn: ({ nodes }: PageResult<RecordMatchResult>) =>
    nodes.map(({ domain, record }) => {
      const { data, firstSeen, removed } = presentDnsRecord(record);
      const { rdata, lastSeen } = record;
      return {
        domain: domain.name,
        data,
        rdata,
        firstSeen,
        removed,
        ...(lastSeen !== undefined && { lastSeen }),
      };
    }),
  columns: STAY_COLUMNS,
  rowsIn: ({ nodes }: PageResult<RecordMatchResult>) =>
    nodes.map(({ domain, record, source }) => ({
      ...{ domain: domain.name, kind: 'DNS', name: record.host, class: record.class, type: record.type },
      ...{ value: record.rdata, first_seen: record.firstSeen, last_seen: record.lastSeen },
      ...{ removed: record.removed, source },
    })),
  exampleRow: {
    ...{ domain: 'example.com', kind: 'DNS', name: 'example.com', class: 'IN', type: 'MX' },
    ...{ value: '10 mail.example.net.', first_seen: EARLIER, last_seen: EARLIER, source: 'probe-1' },
  },
};

/** Search DNS records. */
export const DNS_RECORD_MATCHES: Body = {
  name: 'DnsRecordMatches',
  schema: closedObject('DNS records that meet the question, a page of them.', {
    matches: listOf(
      {
        ...closedObject('A DNS record, and the domain at which it was observed.', {
          domain: START.domain,
          data: schemaReference('DnsRecordData'),
          rdata: RDATA,
          firstSeen: timestamp('When this record was first observed.'),
          removed: timestampOrNull(
            'When it was observed to be gone; null: it was not. When it was last seen is in CSV, as `last_seen`.',
          ),
        }),
      },
      'The records: by domain, then as Get domain orders them.',
    ),
    next: NEXT,
  }),
  present: (found: PageResult<RecordMatchResult>, countedFrom) => ({
    matches: RECORD_PAGE.itemsIn(found),
    next: nextOf(found, countedFrom),
  }),
  page: RECORD_PAGE,
};

interface HeaderMatchResult {
  readonly domain: { readonly name: string };
  readonly name: string;
  readonly value: string;
  readonly from: string;
  readonly to: string | null;
  /** For tables. */
  readonly lastSeen?: string | null;
  readonly source?: string | null;
}

const HEADER_PAGE: PageBody = {
  pageIn: (page: PageResult<HeaderMatchResult>) => page,
  itemsIn: ({ nodes }: PageResult<HeaderMatchResult>) =>
    nodes.map(({ domain, ...match }) => ({ domain: domain.name, ...match })),
  columns: STAY_COLUMNS,
  rowsIn: ({ nodes }: PageResult<HeaderMatchResult>) =>
    nodes.map(({ domain, name, value, from, to, lastSeen, source }) => ({
      ...{ domain: domain.name, kind: 'HTTP', name, value },
      ...{ first_seen: from, last_seen: lastSeen, removed: to, source },
    })),
  exampleRow: {
    ...{ domain: 'example.com', kind: 'HTTP', name: 'server', value: 'nginx' },
    ...{ first_seen: EARLIER, last_seen: EARLIER, source: 'probe-1' },
  },
};

/** Search HTTP headers. */
export const HTTP_HEADER_MATCHES: Body = {
  name: 'HttpHeaderMatches',
  schema: closedObject('HTTP response headers that meet the question, a page of them.', {
    matches: listOf(
      closedObject('A time at which a header of a domain had a value.', {
        domain: START.domain,
        name: text('The name of the header, in lower case.', 'server'),
        value: text('The value.', 'nginx'),
        from: timestamp('When the header was first observed with the value.'),
        to: timestampOrNull(
          'When it was observed with another value or not any more; null: it was not. When it was last seen with it is in CSV, as `last_seen`.',
        ),
      }),
      'The headers: by domain, then by time.',
    ),
    next: NEXT,
  }),
  present: (found: PageResult<HeaderMatchResult>, countedFrom) => ({
    matches: HEADER_PAGE.itemsIn(found),
    next: nextOf(found, countedFrom),
  }),
  page: HEADER_PAGE,
};

interface DomainMatchResult {
  readonly domain: string;
  readonly created: string;
  readonly lastUpdate: string;
  readonly lastChange: string;
}

/** Search domains. */
export const DOMAIN_MATCHES: Body = {
  name: 'DomainMatches',
  schema: closedObject('Domains that meet the question, a page of them.', {
    matches: listOf(
      closedObject('A domain and its times.', {
        ...START,
        created: timestamp('The time of the earliest observation of the domain.', EARLIER),
        lastUpdate: timestamp('The time of the latest observation of the domain.'),
        lastChange: timestamp('The time of the latest change of any kind; `created` if there was none.'),
      }),
      'The domains, by name.',
    ),
    next: NEXT,
  }),
  present: (found: PageResult<DomainMatchResult>, countedFrom) => ({
    matches: found.nodes,
    next: nextOf(found, countedFrom),
  }),
  page: {
    pageIn: (page: PageResult<DomainMatchResult>) => page,
    itemsIn: ({ nodes }: PageResult<DomainMatchResult>) => nodes,
    columns: DOMAIN_COLUMNS,
    rowsIn: ({ nodes }: PageResult<DomainMatchResult>) =>
      nodes.map(({ domain, created, lastUpdate, lastChange }) => ({
        ...{ domain, created, last_update: lastUpdate, last_change: lastChange },
      })),
    exampleRow: {
      ...{ domain: 'example.com', created: EARLIER, last_update: EARLIER, last_change: EARLIER },
    },
  },
};
