import { type CsvRow, DOMAIN_COLUMNS, STAY_COLUMNS } from '../../../model/csv.js';
import { type Body, nextOf, type PageResult } from './body.js';
import { presentDnsRecord, type RecordWithText } from './dns-records.js';

function matches<Node extends object>(
  name: string,
  itemOf: (node: Node) => object,
  columns: readonly string[],
  rowOf: (node: Node) => CsvRow,
): Body {
  return {
    name,
    present: (found: PageResult<Node>, countedFrom) => ({
      matches: found.nodes.map(itemOf),
      next: nextOf(found, countedFrom),
    }),
    page: { pageIn: (page: PageResult<Node>) => page, itemOf, columns, rowOf },
  };
}

interface RecordMatchResult {
  readonly domain: { readonly name: string };
  readonly record: RecordWithText;
  /** For tables. */
  readonly source?: string | null;
}

export const DNS_RECORD_MATCHES = matches<RecordMatchResult>(
  'DnsRecordMatches',
  ({ domain, record }) => {
    const { data, firstSeen, removed } = presentDnsRecord(record);
    const { rdata, lastSeen } = record;
    return { domain: domain.name, data, rdata, firstSeen, removed, ...(lastSeen && { lastSeen }) };
  },
  STAY_COLUMNS,
  ({ domain, record, source }) => ({
    domain: domain.name,
    kind: 'DNS',
    name: record.host,
    class: record.class,
    type: record.type,
    value: record.rdata,
    first_seen: record.firstSeen,
    last_seen: record.lastSeen,
    removed: record.removed,
    source,
  }),
);

interface HeaderMatchResult extends Readonly<Record<'name' | 'value' | 'from', string>> {
  readonly domain: { readonly name: string };
  readonly to: string | null;
  /** For tables. */
  readonly lastSeen?: string | null;
  readonly source?: string | null;
}

export const HTTP_HEADER_MATCHES = matches<HeaderMatchResult>(
  'HttpHeaderMatches',
  ({ domain, ...match }) => ({ domain: domain.name, ...match }),
  STAY_COLUMNS,
  ({ domain, name, value, from, to, lastSeen, source }) => ({
    domain: domain.name,
    kind: 'HTTP',
    name,
    value,
    first_seen: from,
    last_seen: lastSeen,
    removed: to,
    source,
  }),
);

export const DOMAIN_MATCHES = matches<Record<'domain' | 'created' | 'lastUpdate' | 'lastChange', string>>(
  'DomainMatches',
  (match) => match,
  DOMAIN_COLUMNS,
  ({ domain, created, lastUpdate, lastChange }) => ({
    domain,
    created,
    last_update: lastUpdate,
    last_change: lastChange,
  }),
);
