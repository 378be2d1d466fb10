import type { Pool, PoolClient, QueryConfig } from 'pg';
import { inTransaction } from '../database/transaction.js';
import type { Changes } from '../history/diff.js';
import type { Outcome } from '../history/record-observations.js';
import type { RecordStay, StoredHeaderChange } from '../history/state.js';
import type { DnsRecord } from '../model/dns-record.js';
import { parseRdata } from '../model/rdata-types.js';
import {
  type Columns,
  DATABASE_NOW,
  insertInto,
  namesOf,
  statementsFor,
  type WriteRows,
  write,
} from './bulk-write.js';
import { isContention, pauseAfter } from './contention.js';
import { DOMAIN_COLUMNS, type DomainChanges, SELDOM_COLUMNS, STATE_COLUMNS } from './domain-rows.js';
import { FEED_COLUMNS, feedRows, INSERT_FEED } from './feed-rows.js';
import {
  EARLIER,
  HEADERS,
  type HistoryItems,
  RESPONSES,
  type RowOf,
  STAY_END,
  STAYS,
  type Table,
} from './history-tables.js';

const INSERTED: Columns<DomainChanges> = [...STATE_COLUMNS, ...SELDOM_COLUMNS];

const INSERT_DOMAINS: WriteRows = ({ from, value }) => `
  INSERT INTO domain (name, ${namesOf(INSERTED)}, version, recorded_at, record_octets, header_octets, kept_times)
  SELECT ${value('name')}, ${namesOf(INSERTED).map(value)}, GREATEST(${value('version')}, ${DATABASE_NOW}),
         ${DATABASE_NOW}, ${value('record_octets')}, ${value('header_octets')}, ${value('kept_times')}
    FROM ${from}
  ON CONFLICT (name) DO NOTHING
  RETURNING name`;

const UPDATE_DOMAINS: WriteRows = ({ from, value, key, keys }) => `
  UPDATE domain AS d
     SET ${namesOf(STATE_COLUMNS).map((name) => `${name} = ${value(name)}`)},
         ${namesOf(SELDOM_COLUMNS).map((name) => `${name} = COALESCE(${value(name)}, d.${name})`)},
         version = GREATEST(${value('version')}, ${DATABASE_NOW}),
         recorded_at = GREATEST(d.recorded_at, ${DATABASE_NOW}),
         record_octets = d.record_octets + ${value('record_octets')},
         header_octets = d.header_octets + ${value('header_octets')},
         kept_times = CASE WHEN ${value('is_replaced')} THEN ${value('kept_times')}
                           WHEN ${value('kept_times')} IS NULL THEN d.kept_times
                           ELSE COALESCE(d.kept_times, '{}') || ${value('kept_times')} END
    FROM ${from}
   WHERE d.name = ANY (${keys}) AND d.name = ${key('name')} AND d.version = ${key('version_before')}
  RETURNING d.name`;

const END_STAYS: WriteRows = ({ from, value, key, keys }) => `
  UPDATE dns_record AS r
     SET ${namesOf(STAY_END).map((name) => `${name} = ${value(name)}`)}
    FROM ${from}
   WHERE r.domain = ANY (${keys}) AND ${equals('r', STAYS.key, key)}`;

function equals<Row>(alias: string, columns: Columns<Row>, key: (column: string) => string): string {
  return namesOf(columns)
    .map((name) => `${alias}.${name} = ${key(name)}`)
    .join(' AND ');
}

const UPSERT_EARLIER: WriteRows = (rows) => `
  ${insertInto(EARLIER.name, EARLIER.columns)(rows)} ON CONFLICT (${namesOf(EARLIER.key)}) DO UPDATE
     SET ${namesOf(EARLIER.columns.slice(EARLIER.key.length)).map((name) => `${name} = excluded.${name}`)}`;

const NAME_COLUMNS: Columns<string> = [['name', 'text', (name) => name]];

// In one order for all writers: rows of two that are inserted in different orders would be a deadlock.
const INSERT_NAMES: WriteRows = ({ from, key }) => `
  INSERT INTO known_name (name) SELECT ${key('name')} FROM ${from} ORDER BY name ON CONFLICT DO NOTHING`;

/** A text, and what it is the text of: `TXT` or the name of a header. */
export interface KnownText {
  readonly kind: string;
  readonly text: string;
}

export const TEXT_COLUMNS: Columns<KnownText> = [
  ['kind', 'text', ({ kind }) => kind],
  ['text', 'text', ({ text }) => text],
];

/** In place of a text, which may be longer than a key of an index. */
function digestOf(text: string): string {
  return `substring(sha256(convert_to(${text}, 'UTF8')) FOR 16)`;
}

const INSERT_TEXTS: WriteRows = ({ from, value }) => `
  INSERT INTO known_text (kind, digest, text)
  SELECT ${value('kind')}, ${digestOf(value('text'))} AS digest, ${value('text')}
    FROM ${from} ORDER BY 1, digest ON CONFLICT DO NOTHING`;

/** Those of names, which have no kind, and of texts that searches do not find. */
export const SELECT_UNKNOWN: WriteRows = ({ from, value }) => `
  SELECT ${value('kind')} AS kind, ${value('text')} AS text FROM ${from}
   WHERE CASE ${value('kind')}
     WHEN '' THEN NOT EXISTS (SELECT FROM known_name WHERE name = ${value('text')})
     ELSE NOT EXISTS (SELECT FROM known_text AS known
                       WHERE known.kind = ${value('kind')} AND known.digest = ${digestOf(value('text'))}) END`;

export interface DomainRecording {
  readonly name: string;
  readonly isNew: boolean;
  readonly outcomes: readonly Outcome[];
  /** Null: nothing changed, or what was known has moved. */
  readonly changes: Changes | null;
  readonly counts: Counts;
  readonly writing: DomainChanges | null;
}

export const COUNTS = ['recordsAdded', 'recordsRemoved', 'headersCreated', 'headersUpdated'] as const;
export type Counts = Readonly<Record<(typeof COUNTS)[number], number>>;

/**
 * Records domains until none of them conflicts with another writer.
 *
 * @param apply Applies the rules to what is recorded now. Domains that it leaves out are not written.
 */
export async function writeUntilDone<Domain extends { readonly name: string }>(
  pool: Pool,
  domains: readonly Domain[],
  apply: (left: readonly Domain[]) => Promise<readonly DomainRecording[]>,
): Promise<DomainRecording[]> {
  const done: DomainRecording[][] = [];
  let left = domains;
  for (let attempt = 1; left.length > 0; attempt += 1) {
    const applied = await apply(left);
    const changed = applied.flatMap(({ writing }) => writing ?? []);
    const written = await writeDomains(pool, changed);
    const conflicting = new Set(changed.map(({ name }) => name).filter((name) => !written.has(name)));
    done.push(applied.filter(({ name }) => !conflicting.has(name)));
    left = left.filter(({ name }) => conflicting.has(name));
    if (left.length > 0) await pauseAfter(attempt);
  }
  return done.flat();
}

/** In one transaction. @returns the names of those that no other process has written meanwhile. */
async function writeDomains(pool: Pool, domains: readonly DomainChanges[]): Promise<Set<string>> {
  if (domains.length === 0) return new Set();
  const written = inTransaction(
    pool,
    async (client) => {
      const names = await writeDomainRows(client, domains);
      const gone = rowsOf(
        domains.filter(({ name }) => names.has(name)).map((each) => [each.name, each.gone]),
      );
      await erase(client, STAYS, gone.stays);
      await erase(client, HEADERS, gone.headers);
      await erase(client, RESPONSES, gone.responses);
      await erase(client, EARLIER, gone.earlier);
      return names;
    },
    (names) => historyStatements(domains.filter(({ name }) => names.has(name))),
  );
  return written.catch((error) => {
    if (isContention(error)) return new Set();
    throw error;
  });
}

/**
 * Writes the rows of domains, each only if it is still as it was when the changes were found.
 *
 * The condition takes the place of a lock that would have to be held while the changes are found: it
 * costs nothing when there is no other writer, and an `UPDATE` works on sharded tables, where `SELECT …
 * FOR UPDATE` over several domains does not. The row stays locked until the transaction ends, which
 * guards the rows of the domain's records and headers too.
 *
 * The version is at least the database's clock, so that a domain that is erased and recorded again, or a
 * database restored from a backup, does not give a second state an old version. The time of recording is that
 * clock's, and never decreases, even if the clock does.
 */
async function writeDomainRows(client: PoolClient, domains: readonly DomainChanges[]): Promise<Set<string>> {
  const first = domains.filter(({ before }) => before === null);
  const further = domains.filter(({ before }) => before !== null);
  const [inserted, updated] = await Promise.all([
    write<DomainChanges, { name: string }>(client, INSERT_DOMAINS, DOMAIN_COLUMNS, first),
    write<DomainChanges, { name: string }>(client, UPDATE_DOMAINS, DOMAIN_COLUMNS, further),
  ]);
  return new Set([...inserted, ...updated].map(({ name }) => name));
}

async function erase<Item>(
  client: PoolClient,
  { name, key: columns }: Table<Item>,
  rows: readonly RowOf<Item>[],
) {
  const statement: WriteRows = ({ from, key, keys }) => `
    DELETE FROM ${name} AS old USING ${from}
     WHERE old.domain = ANY (${keys}) AND ${equals('old', columns, key)}`;
  await write(client, statement, columns, rows);
}

function historyStatements(domains: readonly DomainChanges[]): QueryConfig[] {
  const { stays, headers, responses, earlier } = rowsOf(domains.map(({ name, added }) => [name, added]));
  const ended = domains.flatMap(({ name: domain, ended }) => ended.map((item) => ({ domain, item })));
  const texts = textsIn(
    stays.map(({ item }) => item.record),
    headers.map(({ item }) => item),
  );
  return [
    ...insertRows(STAYS, stays),
    ...statementsFor(END_STAYS, [...STAYS.key, ...STAY_END], ended),
    ...insertRows(HEADERS, headers),
    ...insertRows(RESPONSES, responses),
    ...statementsFor(UPSERT_EARLIER, EARLIER.columns, earlier),
    ...statementsFor(INSERT_NAMES, NAME_COLUMNS, namesIn(domains, stays)),
    ...statementsFor(INSERT_TEXTS, TEXT_COLUMNS, texts),
    // The last statement: other writers wait from here on until the transaction is committed.
    ...statementsFor(INSERT_FEED, FEED_COLUMNS, feedRows(domains)),
  ];
}

function insertRows<Item>({ name, columns }: Table<Item>, rows: readonly RowOf<Item>[]): QueryConfig[] {
  return statementsFor(insertInto(name, columns), columns, rows);
}

function rowsOf(domains: readonly (readonly [domain: string, items: HistoryItems | undefined])[]) {
  const rows = <Item>(itemsOf: (items: HistoryItems) => readonly Item[]): RowOf<Item>[] =>
    domains.flatMap(([domain, items]) => (items ? itemsOf(items).map((item) => ({ domain, item })) : []));
  return {
    stays: rows(({ stays }) => stays),
    headers: rows(({ headers }) => headers),
    responses: rows(({ responses }) => responses),
    earlier: rows(({ earlier }) => earlier),
  };
}

/** The names of domains that were not recorded, and the other owner names of records. */
function namesIn(domains: readonly DomainChanges[], added: readonly RowOf<RecordStay>[]): string[] {
  const names = new Set<string>();
  for (const { name, before } of domains) if (before === null) names.add(name);
  for (const { domain, item } of added) if (item.record.host !== domain) names.add(item.record.host);
  return [...names];
}

/** The texts of TXT records, as searches look in them, and the values of headers: each once. */
export function textsIn(
  records: readonly Pick<DnsRecord, 'type' | 'rdata'>[],
  headers: readonly Pick<StoredHeaderChange, 'name' | 'value'>[],
): KnownText[] {
  const texts = new Map<string, KnownText>();
  const add = (kind: string, text: string) => texts.set(`${kind}\n${text}`, { kind, text });
  for (const { type, rdata } of records) {
    const { txt } = type === 'TXT' ? parseRdata(rdata) : {};
    if (typeof txt === 'string') add('TXT', txt);
  }
  for (const { name, value } of headers) if (value !== null) add(name, value);
  return [...texts.values()];
}
