import type { Pool } from 'pg';
import type { EarlierChanges } from '../history/routine.js';
import { type HeaderState, type Holdings, partKey, type RecordStay } from '../history/state.js';
import { addTo } from '../model/groups.js';
import {
  DOMAIN_COLUMNS,
  type DomainRow,
  EARLIER_COLUMNS,
  type EarlierRow,
  earlierOfRow,
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

/** Reads what domains hold now: their present records, and every header's newest value. */
export async function loadHoldings(pool: Pool, names: readonly string[]): Promise<Map<string, Holdings>> {
  const [stays, headers, earlier] = await Promise.all([
    pool.query<StayRow>(
      `SELECT ${STAY_COLUMNS}
         FROM dns_record WHERE domain = ANY($1) AND removed IS NULL`,
      [names],
    ),
    pool.query<HeaderState & { readonly domain: string; readonly name: string }>(
      `SELECT domain, name, value IS NOT NULL AS present, last_seen AS "lastSeen",
              CASE WHEN value IS NULL THEN ${latestValue('value IS NOT NULL')} ELSE value END AS value,
              CASE WHEN routine = 'ERROR_PAGE'
                   THEN ${latestValue("routine IS DISTINCT FROM 'ERROR_PAGE'")} ELSE value END AS steady
         FROM (SELECT DISTINCT ON (domain, name) * FROM header_change
                WHERE domain = ANY($1) ORDER BY domain, name, observed_at DESC) AS latest`,
      [names],
    ),
    pool.query<EarlierRow>(`SELECT ${EARLIER_COLUMNS} FROM earlier_changes WHERE domain = ANY($1)`, [names]),
  ]);
  const holdings = new Map(
    names.map((name) => [
      name,
      {
        records: new Map<string, RecordStay[]>(),
        headers: new Map<string, HeaderState>(),
        earlier: new Map<string, EarlierChanges>(),
      },
    ]),
  );
  for (const row of stays.rows) {
    const held = holdings.get(row.domain);
    if (held !== undefined) addTo(held.records, row.type, stayOfRow(row));
  }
  for (const { domain, name, value, present, lastSeen, steady } of headers.rows) {
    holdings.get(domain)?.headers.set(name, { value, present, lastSeen, steady });
  }
  for (const row of earlier.rows) {
    holdings.get(row.domain)?.earlier.set(partKey(row.type, row.name), earlierOfRow(row));
  }
  return holdings;
}

/** The latest value of a header, of those that meet a condition. The names, too: partitions and shards are chosen by them. */
function latestValue(condition: string): string {
  return `(SELECT value FROM header_change AS before
            WHERE before.domain = ANY($1) AND before.domain = latest.domain AND before.name = latest.name AND before.${condition}
            ORDER BY before.observed_at DESC LIMIT 1)`;
}
