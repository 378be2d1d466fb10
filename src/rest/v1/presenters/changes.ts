import { CHANGE_COLUMNS, type CsvRow } from '../../../model/csv.js';
import type { DomainChange, RestChange } from '../../../notify/changes.js';
import { type Body, nextOf, type PageResult } from './body.js';
import { presentDnsRecord, type RecordWithText } from './dns-records.js';

export interface ChangeResult extends Omit<DomainChange, 'data' | 'rdata'> {
  readonly domain?: { readonly name: string };
  readonly record?: RecordWithText;
}

export interface DomainChangesResult {
  readonly domain: string;
  readonly changes: PageResult<ChangeResult>;
}

export const DOMAIN_CHANGES: Body = {
  name: 'DomainChanges',
  present: ({ domain, changes }: DomainChangesResult, countedFrom) => ({
    domain,
    changes: changes.nodes.map(presentChange),
    next: nextOf(changes, countedFrom),
  }),
  page: {
    pageIn: ({ changes }: DomainChangesResult) => changes,
    itemOf: presentChange,
    columns: CHANGE_COLUMNS,
    rowOf: (change: ChangeResult, { domain }: DomainChangesResult) => rowOf(domain, change),
  },
};

export type ChangesResult = PageResult<ChangeResult>;

export const CHANGES: Body = {
  name: 'Changes',
  present: ({ nodes, pageInfo }: ChangesResult) => ({
    changes: nodes.map(presentChange),
    next: pageInfo.endCursor,
  }),
  page: {
    pageIn: (page: ChangesResult) => page,
    itemOf: presentChange,
    columns: CHANGE_COLUMNS,
    rowOf: (change: ChangeResult) => rowOf(change.domain?.name, change),
  },
};

/** Changes of all domains as they are recorded: each is an event with its cursor. */
export function presentEvents({ edges, pageInfo }: LiveResult): EventPage {
  const events = edges.map(({ cursor, node }) => ({ id: cursor, data: presentChange(node) }));
  return { events, end: pageInfo.endCursor };
}

export interface EventPage {
  readonly events: readonly { readonly id: string; readonly data: object }[];
  readonly end: string;
}

export interface LiveResult {
  readonly edges: readonly { readonly cursor: string; readonly node: ChangeResult }[];
  readonly pageInfo: { readonly endCursor: string };
}

function rowOf(domain: string | undefined, change: ChangeResult): CsvRow {
  const { record, lastSeen, domain: _named, oldStatus, newStatus, ...fields } = change;
  const row = { ...fields, domain, last_seen: lastSeen };
  if (newStatus !== undefined) return { ...row, old: String(oldStatus), new: String(newStatus) };
  if (record === undefined) return row;
  const { host: name, type, rdata } = record;
  return { ...row, name, type, [change.kind === 'DNS_RECORD_ADDED' ? 'new' : 'old']: rdata };
}

/** A change as a body has it: with its domain, where the operation selects that. */
export function presentChange(change: ChangeResult): DomainChange & Partial<RestChange> {
  const { domain, id, kind, date, source, routine, record, lastSeen, earliest, ...others } = change;
  const common = { ...(domain && { domain: domain.name }), id, kind, date, source, routine };
  if (earliest !== undefined) return { ...common, earliest };
  const { oldStatus, newStatus, ...header } = others;
  if (newStatus !== undefined) return { ...common, oldStatus, newStatus };
  const what =
    record === undefined
      ? { name: header.name, old: header.old ?? null, new: header.new ?? null }
      : { data: presentDnsRecord(record).data, rdata: record.rdata };
  return { ...common, ...what, ...(lastSeen !== undefined && { lastSeen }) };
}
