import { HEADER_CHANGES, RECORD_CHANGES, ROUTINE_REASONS } from '../../../model/change-kinds.js';
import { CHANGE_COLUMNS, type CsvRow } from '../../../model/csv.js';
import { closedObject, listOf, type Schema, schemaReference, text, timestamp } from '../json-schema.js';
import { EXAMPLE_CURSOR } from '../parameters.js';
import { presentDnsRecord, RDATA, type RecordWithText } from './dns-records.js';
import { type Body, EARLIER, START } from './domain.js';
import { NEXT, nextOf, type PageResult } from './page.js';

interface ChangeResult {
  readonly id: string;
  readonly domain?: { readonly name: string };
  readonly kind: string;
  readonly date: string;
  readonly source: string | null;
  readonly routine: string | null;
  readonly record?: RecordWithText;
  readonly lastSeen?: string;
  readonly name?: string;
  readonly old?: string;
  readonly new?: string;
  readonly earliest?: string;
}

/** What the stored operation of Domain changes finds. */
interface ChangesResult {
  readonly domain: string;
  readonly changes: PageResult<ChangeResult>;
}

const EXAMPLE_ID = 'YwpleGFtcGxlLmNvbQoKSEVBREVSX0NSRUFURUQKMTcwNDA2NzIwMDAwMDAwMApzZXJ2ZXI';
const ID = text('Identifies the change: opaque, and always the same.', EXAMPLE_ID);

const HISTORY_EXTENDED = closedObject(
  'Older observations, or sightings of passive DNS, were put into the history of the domain: what was told of it before may have moved.',
  {
    ...START,
    id: ID,
    kind: { type: 'string', enum: ['HISTORY_EXTENDED'], description: 'What changed.' },
    date: timestamp('When the history was extended.'),
    source: { type: 'null', description: 'The observations may be of several sources.' },
    routine: { type: 'string', enum: ['BACKFILL'], description: 'It is not notable.' },
    earliest: timestamp('The earliest time at which the history differs: read its changes from there again.'),
  },
);

/** As a table. */
const TABLE = {
  columns: CHANGE_COLUMNS,
  exampleRow: {
    ...{ id: EXAMPLE_ID, date: EARLIER, domain: 'example.com', kind: 'HEADER_CREATED', name: 'server' },
    ...{ new: 'nginx', source: 'probe-1', routine: 'INITIAL' },
  },
};

function rowOf(domain: string | undefined, change: ChangeResult): CsvRow {
  const { record, lastSeen, domain: _named, ...fields } = change;
  const row = { ...fields, domain, last_seen: lastSeen };
  if (record === undefined) return row;
  const { host: name, type, rdata } = record;
  return { ...row, name, type, [change.kind === 'DNS_RECORD_ADDED' ? 'new' : 'old']: rdata };
}

/** Domain changes. */
export const DOMAIN_CHANGES: Body = {
  name: 'DomainChanges',
  schema: closedObject('What changed at a domain, a page of it.', {
    ...START,
    changes: listOf(
      { oneOf: [recordChange(), headerChange()] },
      'The changes: by date, then by kind, then as Get domain orders records and headers.',
    ),
    next: NEXT,
  }),
  present: ({ domain, changes }: ChangesResult, countedFrom) => ({
    domain,
    changes: changes.nodes.map(presentChange),
    next: nextOf(changes, countedFrom),
  }),
  page: {
    pageIn: ({ changes }: ChangesResult) => changes,
    itemsIn: ({ changes }: ChangesResult) => changes.nodes.map(presentChange),
    rowsIn: ({ domain, changes }: ChangesResult) => changes.nodes.map((change) => rowOf(domain, change)),
    ...TABLE,
  },
};

/** Changes of all domains. */
export const CHANGES: Body = {
  name: 'Changes',
  schema: closedObject('What changed at any domain, a page of it.', {
    changes: listOf(
      { oneOf: [recordChange(START), headerChange(START), HISTORY_EXTENDED] },
      'The changes, in the order in which they were recorded.',
    ),
    next: {
      type: 'string',
      description:
        'The cursor where the page ends, for the parameter `after`: it is there also where nothing is new.',
      examples: [EXAMPLE_CURSOR],
    },
  }),
  present: ({ nodes, pageInfo }: PageResult<ChangeResult>) => ({
    changes: nodes.map(presentOfDomain),
    next: pageInfo.endCursor,
  }),
  page: {
    pageIn: (page: PageResult<ChangeResult>) => page,
    itemsIn: ({ nodes }: PageResult<ChangeResult>) => nodes.map(presentOfDomain),
    rowsIn: ({ nodes }: PageResult<ChangeResult>) =>
      nodes.map((change) => rowOf(change.domain?.name, change)),
    ...TABLE,
  },
};

/** Changes of all domains as they are recorded: each is an event with its cursor. */
export function presentEvents({ edges, pageInfo }: LiveResult): EventPage {
  const events = edges.map(({ cursor, node }) => ({ id: cursor, data: presentOfDomain(node) }));
  return { events, end: pageInfo.endCursor };
}

/** Events, and the cursor where they end, also if there are none. */
export interface EventPage {
  readonly events: readonly { readonly id: string; readonly data: object }[];
  readonly end: string;
}

/** What the stored subscription to changes finds. */
interface LiveResult {
  readonly edges: readonly { readonly cursor: string; readonly node: ChangeResult }[];
  readonly pageInfo: { readonly endCursor: string };
}

function presentChange(change: ChangeResult): object {
  const { id, kind, date, source, routine, record, lastSeen, earliest, ...header } = change;
  if (earliest !== undefined) return { id, kind, date, source, routine, earliest };
  const what =
    record === undefined
      ? { name: header.name, old: header.old ?? null, new: header.new ?? null }
      : { data: presentDnsRecord(record).data, rdata: record.rdata };
  return { id, kind, date, source, routine, ...what, ...(lastSeen !== undefined && { lastSeen }) };
}

/** A change of any domain. */
function presentOfDomain({ domain, ...change }: ChangeResult): object {
  return { domain: domain?.name, ...presentChange(change) };
}

type Properties = Readonly<Record<string, Schema>>;

function changeOf(kinds: readonly string[], before: Properties, what: Properties): Schema {
  const change = closedObject('A change, with its evidence.', {
    ...before,
    id: ID,
    kind: { type: 'string', enum: kinds, description: 'What changed.' },
    date: timestamp('The time of the observation that showed the change.'),
    source: {
      type: ['string', 'null'],
      description: 'Who made that observation; null if it did not say.',
      examples: ['probe-1'],
    },
    routine: {
      type: ['string', 'null'],
      enum: [...ROUTINE_REASONS.filter((reason) => reason !== 'BACKFILL'), null],
      description:
        'Why the change is routine; null: it is notable. `INITIAL`: the first observation of the domain or of a part of it showed it.',
      examples: [null],
    },
    ...what,
  });
  const lastSeen = timestamp(
    'Of what is gone, and of the value before of HEADER_UPDATED: the last observation that still held it.',
  );
  return { ...change, properties: { ...Object(change['properties']), lastSeen } };
}

function recordChange(before: Properties = {}): Schema {
  return changeOf(RECORD_CHANGES, before, { data: schemaReference('DnsRecordData'), rdata: RDATA });
}

function headerChange(before: Properties = {}): Schema {
  return changeOf(HEADER_CHANGES, before, {
    name: text('The name of the header, in lower case.', 'server'),
    old: { type: ['string', 'null'], description: 'The value before, of HEADER_UPDATED and HEADER_GONE.' },
    new: { type: ['string', 'null'], description: 'The value from then on; null for HEADER_GONE.' },
  });
}
