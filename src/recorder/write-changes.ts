import type { Pool, PoolClient, QueryConfig } from 'pg';
import { inTransaction } from '../database/transaction.js';
import type { Changes } from '../history/apply-observation.js';
import type { DnsChanges } from '../history/diff.js';
import type { EarlierChanges } from '../history/routine.js';
import {
  type DomainState,
  isFirstSighted,
  isLastSighted,
  type RecordedResponse,
  type RecordStay,
} from '../history/state.js';
import type { KeptTimes, StoredHeaderChange } from '../history/stored-history.js';
import type { DnsRecord } from '../model/dns-record.js';
import type { Instant } from '../model/instant.js';
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
import { isContention } from './contention.js';
import { FEED_COLUMNS, feedRows, INSERT_FEED } from './feed-rows.js';
import type { HistoryOctets } from './history-octets.js';
import { type DomainRow, storedKeptTimes, storedSightings, storedTypes } from './rows.js';

export interface DomainChanges {
  readonly name: string;
  /** The row that the changes were found against; null for a domain that was not recorded. */
  readonly before: DomainRow | null;
  /** The state of `before`, and the one to write. */
  readonly stateBefore: DomainState | null;
  readonly state: DomainState;
  /** The least that its version may be now (`leastNextVersion`). */
  readonly version: bigint;
  readonly changes: DnsChanges & {
    readonly headers: readonly StoredHeaderChange[];
    readonly responses: readonly RecordedResponse[];
    readonly earlier: readonly EarlierChanges[];
  };
  /** The changes of each observation, for the feed; absent where what is written is no change. */
  readonly observed?: readonly Changes[];
  /** The time from which on what the feed told before has moved; absent: it has not. */
  readonly extendedFrom?: Instant | null;
  /** Added to those that are kept; absent: none. */
  readonly keptTimes?: KeptTimes;
  /** By how much the parts of its history grow. */
  readonly octets: HistoryOctets;
}

const STATE_COLUMNS: Columns<Pick<DomainChanges, 'state'>> = [
  ['created', 'bigint', ({ state }) => state.created],
  ['last_update', 'bigint', ({ state }) => state.lastUpdate],
  ['last_change', 'bigint', ({ state }) => state.lastChange],
  ['dns_first', 'bigint', ({ state }) => state.everyType?.first],
  ['dns_latest', 'bigint', ({ state }) => state.everyType?.latest],
  ['http_first', 'bigint', ({ state }) => state.http?.first],
  ['http_latest', 'bigint', ({ state }) => state.http?.latest],
  ['http_digest', 'text', ({ state }) => state.http?.digest],
  ['https_latest', 'bigint', ({ state }) => state.https?.latest],
  ['https_declined_first', 'bigint', ({ state }) => state.https?.declined?.first],
  ['https_declined_latest', 'bigint', ({ state }) => state.https?.declined?.latest],
  ['https_declined_count', 'integer', ({ state }) => state.https?.declined?.count],
  [
    'site_latest',
    'bigint',
    ({ state: { site, http } }) => (site?.latest === http?.latest ? null : site?.latest),
  ],
];

/** Most observations change but the time of the latest, which is that of HTTP then. */
const SITE_COLUMNS: Columns<Pick<DomainChanges, 'state'>> = [
  ['site_scheme', 'text', ({ state }) => state.site?.scheme],
  ['site_status', 'integer', ({ state }) => state.site?.status],
  ['site_first', 'bigint', ({ state }) => state.site?.first],
];

const DOMAIN_COLUMNS: Columns<DomainChanges> = [
  ['name', 'text', ({ name }) => name],
  ['version', 'bigint', ({ version }) => version],
  ['version_before', 'bigint', ({ before }) => before?.version],
  ['record_octets', 'bigint', ({ octets }) => octets.records],
  ['header_octets', 'bigint', ({ octets }) => octets.headers],
  // Null leaves the column as it is: most observations change nothing in it.
  [
    'dns_types',
    'jsonb',
    ({ state, stateBefore }) => (state.types === stateBefore?.types ? null : storedTypes(state.types)),
  ],
  [
    'kept_times',
    'jsonb',
    ({ keptTimes }) => (keptTimes === undefined || keptTimes.size === 0 ? null : storedKeptTimes(keptTimes)),
  ],
  ...STATE_COLUMNS,
  ...SITE_COLUMNS.map(
    ([name, type, read]) =>
      [name, type, (row: DomainChanges) => (isSameSite(row) ? null : read(row))] as const,
  ),
];

function isSameSite({ state, stateBefore }: DomainChanges): boolean {
  const [now, before] = [state.site, stateBefore?.site];
  return now?.first === before?.first && now?.status === before?.status && now?.scheme === before?.scheme;
}

interface RowOf<Item> {
  readonly domain: string;
  readonly item: Item;
}

export const STAY_KEY: Columns<RowOf<RecordStay>> = [
  ['domain', 'text', ({ domain }) => domain],
  ['first_seen', 'bigint', ({ item }) => item.firstSeen],
  ['type', 'text', ({ item }) => item.record.type],
  ['position', 'integer', ({ item }) => item.position],
];

const STAY_END: Columns<RowOf<RecordStay>> = [
  ['removed', 'bigint', ({ item }) => item.removal?.removed],
  ['last_seen', 'bigint', ({ item }) => item.removal?.lastSeen ?? item.sightings?.at(-1)?.seenAt],
  [
    'last_sighted',
    'boolean',
    ({ item }) => (item.removal === null ? item.sightings !== undefined : isLastSighted(item)),
  ],
  ['removed_source', 'text', ({ item }) => item.removal?.source],
  ['removed_routine', 'text', ({ item }) => item.removal?.routine],
];

const STAY_COLUMNS: Columns<RowOf<RecordStay>> = [
  ...STAY_KEY,
  ['host', 'text', ({ item }) => item.record.host],
  ['class', 'text', ({ item }) => item.record.class],
  ['rdata', 'json', ({ item }) => item.record.rdata],
  ['source', 'text', ({ item }) => item.source],
  ['first_sighted', 'boolean', ({ item }) => isFirstSighted(item)],
  ['sightings', 'json', ({ item }) => item.sightings && storedSightings(item.sightings)],
  ['routine', 'text', ({ item }) => item.routine],
  ...STAY_END,
];

export const HEADER_KEY: Columns<RowOf<StoredHeaderChange>> = [
  ['domain', 'text', ({ domain }) => domain],
  ['name', 'text', ({ item }) => item.name],
  ['observed_at', 'bigint', ({ item }) => item.observedAt],
];

const HEADER_COLUMNS: Columns<RowOf<StoredHeaderChange>> = [
  ...HEADER_KEY,
  ['value', 'text', ({ item }) => item.value],
  ['source', 'text', ({ item }) => item.source],
  ['last_seen', 'bigint', ({ item }) => item.lastSeen],
  ['routine', 'text', ({ item }) => item.routine],
];

export const EARLIER_KEY: Columns<RowOf<EarlierChanges>> = [
  ['domain', 'text', ({ domain }) => domain],
  ['type', 'text', ({ item }) => item.type],
  ['name', 'text', ({ item }) => item.name],
];

const EARLIER_COLUMNS: Columns<RowOf<EarlierChanges>> = [
  ...EARLIER_KEY,
  ['times', 'text', ({ item }) => item.times],
  ['count', 'integer', ({ item }) => item.count],
  ['latest_new', 'bigint', ({ item }) => item.latestNew],
  ['digests', 'text', ({ item }) => item.digests],
];

const UPSERT_EARLIER: WriteRows = ({ from, values }) => `
  INSERT INTO earlier_changes (${namesOf(EARLIER_COLUMNS)}) SELECT ${values()} FROM ${from}
  ON CONFLICT (domain, type, name) DO UPDATE
     SET times = excluded.times, count = excluded.count, latest_new = excluded.latest_new, digests = excluded.digests`;

const NAME_COLUMNS: Columns<string> = [['name', 'text', (name) => name]];

/** A text, and what it is the text of: `TXT` or the name of a header. */
export interface KnownText {
  readonly kind: string;
  readonly text: string;
}

export const TEXT_COLUMNS: Columns<KnownText> = [
  ['kind', 'text', ({ kind }) => kind],
  ['text', 'text', ({ text }) => text],
];

export const RESPONSE_KEY: Columns<RowOf<RecordedResponse>> = [
  ['domain', 'text', ({ domain }) => domain],
  ['observed_at', 'bigint', ({ item }) => item.observedAt],
];

const RESPONSE_COLUMNS: Columns<RowOf<RecordedResponse>> = [
  ...RESPONSE_KEY,
  ['scheme', 'text', ({ item }) => item.scheme],
  ['status', 'integer', ({ item }) => item.status],
  ['address', 'text', ({ item }) => item.address],
  ['source', 'text', ({ item }) => item.source],
  ['routine', 'text', ({ item }) => item.routine],
];

const STATE_NAMES = namesOf(STATE_COLUMNS);

const INSERT_DOMAINS: WriteRows = ({ from, value }) => `
  INSERT INTO domain (name, ${STATE_NAMES}, ${namesOf(SITE_COLUMNS)}, version, dns_types, recorded_at, record_octets, header_octets, kept_times)
  SELECT ${value('name')}, ${[...STATE_COLUMNS, ...SITE_COLUMNS].map(([name]) => value(name)).join(', ')}, GREATEST(${value('version')}, ${DATABASE_NOW}),
         ${value('dns_types')}, ${DATABASE_NOW}, ${value('record_octets')}, ${value('header_octets')}, ${value('kept_times')}
    FROM ${from}
  ON CONFLICT (name) DO NOTHING
  RETURNING name`;

const UPDATE_DOMAINS: WriteRows = ({ from, value, key, keys }) => `
  UPDATE domain AS d
     SET ${STATE_COLUMNS.map(([name]) => `${name} = ${value(name)}`).join(', ')},
         version = GREATEST(${value('version')}, ${DATABASE_NOW}),
         recorded_at = GREATEST(d.recorded_at, ${DATABASE_NOW}),
         dns_types = COALESCE(${value('dns_types')}, d.dns_types),
         ${SITE_COLUMNS.map(([name]) => `${name} = COALESCE(${value(name)}, d.${name})`).join(', ')},
         record_octets = d.record_octets + ${value('record_octets')},
         header_octets = d.header_octets + ${value('header_octets')},
         kept_times = CASE WHEN ${value('kept_times')} IS NULL THEN d.kept_times
                           ELSE COALESCE(d.kept_times, '{}') || ${value('kept_times')} END
    FROM ${from}
   WHERE d.name = ANY (${keys}) AND d.name = ${key('name')} AND d.version = ${key('version_before')}
  RETURNING d.name`;

const END_STAYS: WriteRows = ({ from, value, key, keys }) => `
  UPDATE dns_record AS r
     SET ${STAY_END.map(([name]) => `${name} = ${value(name)}`).join(', ')}
    FROM ${from}
   WHERE r.domain = ANY (${keys}) AND ${STAY_KEY.map(([name]) => `r.${name} = ${key(name)}`).join(' AND ')}`;

// In one order for all writers: rows of two that are inserted in different orders would be a deadlock.
const INSERT_NAMES: WriteRows = ({ from, key }) => `
  INSERT INTO known_name (name) SELECT ${key('name')} FROM ${from} ORDER BY name ON CONFLICT DO NOTHING`;

/** The digest of a text, by which table `known_text` has it: a text may be longer than a key of an index. */
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

/**
 * Writes the changes of domains in one transaction: none of them if it conflicts with another writer.
 *
 * @param remove removes the rows of written domains that their changes replace.
 * @returns the names of the domains that were written. The others were written by another process.
 */
export async function writeDomains<Domain extends DomainChanges>(
  pool: Pool,
  domains: readonly Domain[],
  remove: (client: PoolClient, written: readonly Domain[]) => Promise<void> = async () => {},
): Promise<Set<string>> {
  if (domains.length === 0) return new Set();
  const writtenOf = (names: ReadonlySet<string>) => domains.filter(({ name }) => names.has(name));
  const written = inTransaction(
    pool,
    async (client) => {
      const names = await writeDomainRows(client, domains);
      await remove(client, writtenOf(names));
      return names;
    },
    (names) => historyStatements(writtenOf(names)),
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

function historyStatements(domains: readonly DomainChanges[]): QueryConfig[] {
  const added = rowsOf(domains, ({ changes }) => changes.added);
  const removed = rowsOf(domains, ({ changes }) => changes.removed);
  const headers = rowsOf(domains, ({ changes }) => changes.headers);
  const responses = rowsOf(domains, ({ changes }) => changes.responses);
  const earlier = rowsOf(domains, ({ changes }) => changes.earlier);
  const records = added.map(({ item }) => item.record);
  return [
    ...statementsFor(insertInto('dns_record', STAY_COLUMNS), STAY_COLUMNS, added),
    ...statementsFor(END_STAYS, [...STAY_KEY, ...STAY_END], removed),
    ...statementsFor(insertInto('header_change', HEADER_COLUMNS), HEADER_COLUMNS, headers),
    ...statementsFor(insertInto('site_response', RESPONSE_COLUMNS), RESPONSE_COLUMNS, responses),
    ...statementsFor(UPSERT_EARLIER, EARLIER_COLUMNS, earlier),
    ...statementsFor(INSERT_NAMES, NAME_COLUMNS, namesIn(domains, added)),
    ...statementsFor(
      INSERT_TEXTS,
      TEXT_COLUMNS,
      textsIn(
        records,
        headers.map(({ item }) => item),
      ),
    ),
    // The last statement: other writers wait from here on until the transaction is committed.
    ...statementsFor(INSERT_FEED, FEED_COLUMNS, feedRows(domains)),
  ];
}

export function rowsOf<Domain extends { readonly name: string }, Item>(
  domains: readonly Domain[],
  itemsOf: (domain: Domain) => readonly Item[],
): RowOf<Item>[] {
  return domains.flatMap((each) => itemsOf(each).map((item) => ({ domain: each.name, item })));
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
