import type { Pool } from 'pg';
import { HEADER, SITE } from '../history/judge-changes.js';
import type { EarlierChanges } from '../history/routine.js';
import { type HeaderState, type Holdings, NOTHING_HELD, partKey, type RecordStay } from '../history/state.js';
import { HTTP } from '../history/stored-history.js';
import type { RoutineReason } from '../model/change-kinds.js';
import { addTo } from '../model/groups.js';
import type { Instant } from '../model/instant.js';
import { type Columns, type WriteRows, write } from './bulk-write.js';
import {
  DOMAIN_COLUMNS,
  type DomainRow,
  EARLIER_COLUMNS,
  type EarlierRow,
  STAY_COLUMNS,
  type StayRow,
  stayOfRow,
} from './rows.js';

/** Reads the state of domains: one statement, one row for each domain that is recorded. */
export async function loadDomainRows(pool: Pool, names: readonly string[]): Promise<Map<string, DomainRow>> {
  const statement = `SELECT ${DOMAIN_COLUMNS} FROM domain WHERE name = ANY($1)`;
  const { rows } = await pool.query<DomainRow>(statement, [names]);
  return new Map(rows.map((row) => [row.name, row]));
}

/**
 * Reads what domains hold now of some parts: present records, every header's newest value, and what their
 * changes are judged by.
 *
 * @param parts By name of the domain: DNS types, and HTTP.
 */
export async function loadHoldings(
  pool: Pool,
  parts: ReadonlyMap<string, Iterable<string>>,
): Promise<Map<string, Holdings>> {
  const [dns, http]: [TypeOfDomain[], string[]] = [[], []];
  for (const [name, wanted] of parts) {
    for (const part of wanted) {
      if (part === HTTP) http.push(name);
      else dns.push({ name, type: part });
    }
  }
  const ofHttp = http.flatMap((name) => [HEADER, SITE].map((type) => ({ name, type })));
  const [stays, headers, earlier] = await Promise.all([
    write<TypeOfDomain, StayRow>(pool, SELECT_STAYS, TYPE_COLUMNS, dns),
    loadHeaders(pool, http),
    write<TypeOfDomain, EarlierRow>(pool, SELECT_EARLIER, TYPE_COLUMNS, dns.concat(ofHttp)),
  ]);
  const holdings = new Map(
    Array.from(parts.keys(), (name) => [
      name,
      {
        records: new Map<string, RecordStay[]>(),
        headers: headers.get(name) ?? NOTHING_HELD.headers,
        earlier: new Map<string, EarlierChanges>(),
      },
    ]),
  );
  for (const row of stays) {
    const held = holdings.get(row.domain);
    if (held !== undefined) addTo(held.records, row.type, stayOfRow(row));
  }
  for (const row of earlier) {
    holdings.get(row.domain)?.earlier.set(partKey(row.type, row.name), row);
  }
  return holdings;
}

/** A DNS type of a domain, or what is in its place in table `earlier_changes`. */
interface TypeOfDomain {
  readonly name: string;
  readonly type: string;
}

const TYPE_COLUMNS: Columns<TypeOfDomain> = [
  ['of_domain', 'text', ({ name }) => name],
  ['of_type', 'text', ({ type }) => type],
];

function selectTypes(columns: string, table: string): WriteRows {
  return ({ from, key, keys }) => `
    SELECT ${columns} FROM ${table}, ${from}
     WHERE domain = ANY (${keys}) AND domain = ${key('of_domain')} AND type = ${key('of_type')}`;
}

const SELECT_STAYS = selectTypes(STAY_COLUMNS, '(SELECT * FROM dns_record WHERE removed IS NULL) AS stay');
const SELECT_EARLIER = selectTypes(EARLIER_COLUMNS, 'earlier_changes');

/** A row of table `header_change`. */
interface HeaderRow {
  readonly domain: string;
  readonly name: string;
  readonly value: string | null;
  readonly lastSeen: Instant | null;
  readonly routine: RoutineReason | null;
}

type HeadersByDomain = ReadonlyMap<string, Map<string, HeaderState>>;

/**
 * What is known of the headers of domains: the latest change of each tells it. Where that is an absence, or of
 * an error page, the latest one which is not tells the rest. These are few, and read apart: as subqueries for
 * each row, the planner expects so much of them that a server compiles the statement, which takes ten times as
 * long as the rest.
 */
async function loadHeaders(pool: Pool, names: readonly string[]): Promise<HeadersByDomain> {
  const headers = new Map(names.map((name) => [name, new Map<string, HeaderState>()]));
  const [gone, ofErrorPages] = [new Set<string>(), new Set<string>()];
  for (const { domain, name, value, lastSeen, routine } of await latestChanges(pool, 'true', names)) {
    const isOfErrorPage = routine === 'ERROR_PAGE';
    const steady = isOfErrorPage ? null : value;
    headers.get(domain)?.set(name, { value: value ?? '', present: value !== null, lastSeen, steady });
    if (value === null) gone.add(domain);
    if (isOfErrorPage) ofErrorPages.add(domain);
  }
  // Of the other headers of these domains, the latest change is found again.
  for (const { domain, name, value } of await latestChanges(pool, 'value IS NOT NULL', [...gone])) {
    complete(headers, domain, name, (known) => ({ ...known, value: value ?? '' }));
  }
  const isSteady = "routine IS DISTINCT FROM 'ERROR_PAGE'";
  for (const { domain, name, value } of await latestChanges(pool, isSteady, [...ofErrorPages])) {
    complete(headers, domain, name, (known) => ({ ...known, steady: value }));
  }
  return headers;
}

function complete(
  headers: HeadersByDomain,
  domain: string,
  name: string,
  change: (known: HeaderState) => HeaderState,
): void {
  const known = headers.get(domain)?.get(name);
  if (known !== undefined) headers.get(domain)?.set(name, change(known));
}

/** The latest change of each header of domains, of those that meet a condition. */
async function latestChanges(pool: Pool, condition: string, names: readonly string[]): Promise<HeaderRow[]> {
  if (names.length === 0) return [];
  const { rows } = await pool.query<HeaderRow>(
    `SELECT DISTINCT ON (domain, name) domain, name, value, last_seen AS "lastSeen", routine
       FROM header_change WHERE domain = ANY($1) AND ${condition} ORDER BY domain, name, observed_at DESC`,
    [names],
  );
  return rows;
}
