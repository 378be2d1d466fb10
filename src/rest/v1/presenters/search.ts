import { closedObject, listOf, schemaReference, text, timestamp, timestampOrNull } from '../json-schema.js';
import { presentDnsRecord, RDATA, type RecordWithText } from './dns-records.js';
import { type Body, EARLIER, START } from './domain.js';
import { NEXT, nextOf, type PageResult } from './page.js';

interface RecordMatchResult {
  readonly domain: { readonly name: string };
  readonly record: RecordWithText;
}

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
          removed: timestampOrNull('When it was observed to be gone; null while it is present.'),
        }),
      },
      'The records: by domain, then as Get domain orders them.',
    ),
    next: NEXT,
  }),
  present: (found: PageResult<RecordMatchResult>, countedFrom) => {
    const matches = found.nodes.map(({ domain, record }) => {
      const { data, firstSeen, removed } = presentDnsRecord(record);
      return { domain: domain.name, data, rdata: record.rdata, firstSeen, removed };
    });
    return { matches, next: nextOf(found, countedFrom) };
  },
  pageIn: (page: PageResult<RecordMatchResult>) => page,
};

interface HeaderMatchResult {
  readonly domain: { readonly name: string };
}

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
          'When it was observed with another value or not any more; null while it has the value.',
        ),
      }),
      'The headers: by domain, then by time.',
    ),
    next: NEXT,
  }),
  present: (found: PageResult<HeaderMatchResult>, countedFrom) => ({
    matches: found.nodes.map(({ domain, ...match }) => ({ domain: domain.name, ...match })),
    next: nextOf(found, countedFrom),
  }),
  pageIn: (page: PageResult<HeaderMatchResult>) => page,
};

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
  present: (found: PageResult<object>, countedFrom) => ({
    matches: found.nodes,
    next: nextOf(found, countedFrom),
  }),
  pageIn: (page: PageResult<object>) => page,
};
