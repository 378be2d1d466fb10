import { HEADER_CHANGES, RECORD_CHANGES } from '../../../model/change-kinds.js';
import { closedObject, listOf, type Schema, schemaReference, text, timestamp } from '../json-schema.js';
import { type DnsRecordResult, presentDnsRecords } from './dns-records.js';
import { type Body, START } from './domain.js';

/** A page of a list as a stored operation selects it. */
interface PageResult<Node> {
  readonly nodes: readonly Node[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

interface ChangeResult {
  readonly kind: string;
  readonly date: string;
  readonly source: string | null;
  readonly record?: DnsRecordResult;
  readonly lastSeen?: string;
  readonly name?: string;
  readonly old?: string;
  readonly new?: string;
}

/** What the stored operation of Domain changes finds. */
interface ChangesResult {
  readonly domain: string;
  readonly changes: PageResult<ChangeResult>;
}

/** Domain changes. */
export const DOMAIN_CHANGES: Body = {
  name: 'DomainChanges',
  schema: closedObject('What changed at a domain, a page of it.', {
    ...START,
    changes: listOf(
      { oneOf: [changeOf(RECORD_CHANGES, { data: schemaReference('DnsRecordData') }), headerChange()] },
      'The changes: by date, then by kind, then as Get domain orders records and headers.',
    ),
    next: next(),
  }),
  present: ({ domain, changes }: ChangesResult) => ({
    domain,
    changes: changes.nodes.map(presentChange),
    next: nextOf(changes),
  }),
};

/** The cursor of the next page; null on the last one. */
function nextOf<Node>({ pageInfo }: PageResult<Node>): string | null {
  return pageInfo.hasNextPage ? pageInfo.endCursor : null;
}

function presentChange({ kind, date, source, record, lastSeen, ...header }: ChangeResult): object {
  const what =
    record === undefined
      ? { name: header.name, old: header.old ?? null, new: header.new ?? null }
      : { data: dataOf(record) };
  return { kind, date, source, ...what, ...(lastSeen !== undefined && { lastSeen }) };
}

function dataOf(record: DnsRecordResult): unknown {
  const [entry] = presentDnsRecords([record]);
  return entry?.data;
}

function changeOf(kinds: readonly string[], what: Readonly<Record<string, Schema>>): Schema {
  const change = closedObject('A change, with its evidence.', {
    kind: { type: 'string', enum: kinds, description: 'What changed.' },
    date: timestamp('The time of the observation that showed the change.'),
    source: {
      type: ['string', 'null'],
      description: 'Who made that observation; null if it did not say.',
      examples: ['probe-1'],
    },
    ...what,
  });
  const lastSeen = timestamp('Of what is gone: the last observation that still held it.');
  return { ...change, properties: { ...Object(change['properties']), lastSeen } };
}

function headerChange(): Schema {
  return changeOf(HEADER_CHANGES, {
    name: text('The name of the header, in lower case.', 'server'),
    old: { type: ['string', 'null'], description: 'The value before, of HEADER_UPDATED and HEADER_GONE.' },
    new: { type: ['string', 'null'], description: 'The value from then on; null for HEADER_GONE.' },
  });
}

function next(): Schema {
  return {
    type: ['string', 'null'],
    description: 'The cursor of the next page, for the parameter `after`; null on the last one.',
    examples: [null],
  };
}
