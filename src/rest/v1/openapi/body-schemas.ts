import { RECORD_SCHEMAS } from './record-schemas.js';
import { closedObject, listOf, type Schema, schemaReference, text, timestamp } from './schema.js';

/** The bodies that operations answer with. */
export type BodySchemaName = 'DomainHistory' | 'DomainDnsInfo' | 'DomainDetails' | 'DomainHttpHeaders';

const START = {
  domain: text('The name that was asked for, in its canonical form: lower-case A-labels, no final dot.'),
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

function count(description: string): Schema {
  return { type: 'integer', minimum: 0, description };
}

const BODIES: Readonly<Record<BodySchemaName, Schema>> = {
  DomainHistory: closedObject('Everything that was observed of a domain.', {
    ...{ ...START, ...TIMES, ...DNS_RECORDS, ...HTTP_HEADERS },
  }),
  DomainDnsInfo: closedObject('The DNS records of a domain.', { ...START, ...TIMES, ...DNS_RECORDS }),
  DomainDetails: closedObject('A domain in brief.', {
    ...START,
    unicodeName: text('The name in Unicode.'),
    registrableDomain: {
      type: ['string', 'null'],
      description:
        'The domain that can be registered, by the Public Suffix List; null for a public suffix and where there is none.',
    },
    ...TIMES,
    lastChange: timestamp('The time of the latest change of any kind; `created` if there was none.'),
    dnsRecordCount: count('How many entries `dnsRecords` of Get domain has.'),
    httpHeaderCount: count('How many entries `httpHeaders` of Get domain has.'),
    changeCount: count(
      'How many changes there were: records added and removed; headers created, updated, gone and returned.',
    ),
  }),
  DomainHttpHeaders: closedObject('The HTTP response headers of a domain.', {
    ...{ ...START, ...TIMES, ...HTTP_HEADERS },
  }),
};

/** Every schema of what is found, by name. */
export const BODY_SCHEMAS: Readonly<Record<string, Schema>> = {
  ...BODIES,
  ...RECORD_SCHEMAS,
  HttpHeaderEntry: closedObject('An HTTP response header and its history.', {
    name: text('The name of the header, in lower case.'),
    value: text('The newest value: the `new` of the newest item of `history`.'),
    history: {
      ...listOf(schemaReference('HttpHeaderChange'), 'The values over time, oldest first.'),
      minItems: 1,
    },
  }),
  HttpHeaderChange: closedObject('A new value of a header.', {
    event: {
      enum: ['created', 'updated'],
      description: '`created` for the first value of the header, `updated` for each later one.',
    },
    date: timestamp('When the value was first observed.'),
    new: text('The value after the change. Several fields of one name are joined by a comma and a space.'),
    old: {
      type: ['string', 'null'],
      description: 'The value before the change; null for `created`.',
    },
  }),
  Timestamp: {
    type: 'string',
    format: 'date-time',
    pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{6}Z$',
    description: 'A time in UTC, to the microsecond.',
  },
};
