import type { Pool } from 'pg';
import { HEADER, SITE } from '../history/judge-changes.js';
import type { EarlierChanges } from '../history/routine.js';
import {
  type HeaderState,
  type Holdings,
  holdNothing,
  holdStay,
  partKey,
  type StoredHeaderChange,
} from '../history/state.js';
import { HTTP } from '../history/stored-history.js';
import { type Columns, namesOf, type WriteRows, write } from './bulk-write.js';
import { DOMAIN_SELECTED, type DomainRow } from './domain-rows.js';
import { EARLIER, STAYS, type StayRow, selected, stayOfRow, type Table } from './history-tables.js';

/** Those of the domains that are recorded, by name. */
export async function loadDomainRows(
  pool: Pool,
  domains: readonly { readonly name: string }[],
): Promise<Map<string, DomainRow>> {
  const statement = `SELECT ${DOMAIN_SELECTED} FROM domain WHERE name = ANY($1)`;
  const { rows } = await pool.query<DomainRow>(statement, [domains.map(({ name }) => name)]);
  return new Map(rows.map((row) => [row.name, row]));
}

/** Reads what domains hold now of some parts. @param parts By name of the domain: DNS types, and HTTP. */
export async function loadHoldings(
  pool: Pool,
  parts: ReadonlyMap<string, ReadonlySet<string>>,
): Promise<Map<string, Holdings>> {
  const wanted = [...parts].flatMap(([name, some]) => Array.from(some, (type) => ({ name, type })));
  const dns = wanted.filter(({ type }) => type !== HTTP);
  const http = wanted.filter(({ type }) => type === HTTP).map(({ name }) => name);
  const ofHttp = http.flatMap((name) => [HEADER, SITE].map((type) => ({ name, type })));
  const holdings = new Map(Array.from(parts.keys(), (name) => [name, holdNothing()]));
  const [stays, earlier] = await Promise.all([
    write<TypeOfDomain, StayRow>(pool, SELECT_STAYS, TYPE_COLUMNS, dns),
    write<TypeOfDomain, EarlierChanges & { domain: string }>(
      pool,
      SELECT_EARLIER,
      TYPE_COLUMNS,
      dns.concat(ofHttp),
    ),
    loadHeaders(pool, http, holdings),
  ]);
  for (const row of stays) {
    const held = holdings.get(row.domain);
    if (held !== undefined) holdStay(held, stayOfRow(row));
  }
  for (const row of earlier) holdings.get(row.domain)?.earlier.set(partKey(row.type, row.name), row);
  return holdings;
}

/** A DNS type of a domain, or what is in its place in table `earlier_changes`. */
type TypeOfDomain = Readonly<Record<'name' | 'type', string>>;

const TYPE_COLUMNS: Columns<TypeOfDomain> = [
  ['of_domain', 'text', ({ name }) => name],
  ['of_type', 'text', ({ type }) => type],
];

function selectTypes<Item>({ columns }: Table<Item>, rows: string): WriteRows {
  return ({ from, key, keys }) => `
    SELECT ${selected(namesOf(columns))} FROM ${rows}, ${from}
     WHERE domain = ANY (${keys}) AND domain = ${key('of_domain')} AND type = ${key('of_type')}`;
}

const SELECT_STAYS = selectTypes(STAYS, '(SELECT * FROM dns_record WHERE removed IS NULL) AS stay');
const SELECT_EARLIER = selectTypes(EARLIER, EARLIER.name);

/**
 * What is known of the headers of domains: the latest change of each tells it. Where that is an absence, or of
 * an error page, the latest one which is not tells the rest. These are few, and read apart: as subqueries for
 * each row, the planner expects so much of them that a server compiles the statement, which takes ten times as
 * long as the rest.
 */
async function loadHeaders(
  pool: Pool,
  names: readonly string[],
  holdings: ReadonlyMap<string, Holdings>,
): Promise<void> {
  const [gone, ofErrorPages] = [new Set<string>(), new Set<string>()];
  for (const { domain, name, value, lastSeen, routine } of await latestChanges(pool, 'true', names)) {
    const isOfErrorPage = routine === 'ERROR_PAGE';
    const steady = isOfErrorPage ? null : value;
    holdings
      .get(domain)
      ?.headers.set(name, { value: value ?? '', present: value !== null, lastSeen, steady });
    if (value === null) gone.add(domain);
    if (isOfErrorPage) ofErrorPages.add(domain);
  }
  // Of the other headers of these domains, the latest change is found again.
  const complete = async (
    condition: string,
    some: ReadonlySet<string>,
    toKnown: (value: string | null) => Partial<HeaderState>,
  ) => {
    for (const { domain, name, value } of await latestChanges(pool, condition, [...some])) {
      const headers = holdings.get(domain)?.headers;
      const known = headers?.get(name);
      if (known !== undefined) headers?.set(name, { ...known, ...toKnown(value) });
    }
  };
  await complete('value IS NOT NULL', gone, (value) => ({ value: value ?? '' }));
  await complete("routine IS DISTINCT FROM 'ERROR_PAGE'", ofErrorPages, (steady) => ({ steady }));
}

type HeaderRow = StoredHeaderChange & { readonly domain: string };

/** Of each header, among the changes that meet a condition. */
async function latestChanges(pool: Pool, condition: string, names: readonly string[]): Promise<HeaderRow[]> {
  if (names.length === 0) return [];
  const { rows } = await pool.query<HeaderRow>(
    `SELECT DISTINCT ON (domain, name) domain, name, value, last_seen AS "lastSeen", routine
       FROM header_change WHERE domain = ANY($1) AND ${condition} ORDER BY domain, name, observed_at DESC`,
    [names],
  );
  return rows;
}
