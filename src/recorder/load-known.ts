import type { Pool } from 'pg';
import type { HeaderState, Holdings, RecordStay } from '../history/state.js';
import { addTo } from '../model/groups.js';
import { DOMAIN_COLUMNS, type DomainRow, STAY_COLUMNS, type StayRow, stayOfRow } from './rows.js';

/** Reads the state of domains: one statement, one row for each domain that is recorded. */
export async function loadDomainRows(pool: Pool, names: readonly string[]): Promise<Map<string, DomainRow>> {
  const statement = `SELECT ${DOMAIN_COLUMNS} FROM domain WHERE name = ANY($1)`;
  const { rows } = await pool.query<DomainRow>(statement, [names]);
  return new Map(rows.map((row) => [row.name, row]));
}

/** Reads what domains hold now: their present records, and every header's newest value. */
export async function loadHoldings(pool: Pool, names: readonly string[]): Promise<Map<string, Holdings>> {
  const stays = await pool.query<StayRow>(
    `SELECT ${STAY_COLUMNS}
       FROM dns_record WHERE domain = ANY($1) AND removed IS NULL`,
    [names],
  );
  const headers = await pool.query<HeaderState & { readonly domain: string; readonly name: string }>(
    `SELECT domain, name,
            (array_agg(value ORDER BY observed_at DESC) FILTER (WHERE value IS NOT NULL))[1] AS value,
            (array_agg(value IS NOT NULL ORDER BY observed_at DESC))[1] AS present,
            (array_agg(last_seen ORDER BY observed_at DESC))[1] AS "lastSeen"
       FROM header_change WHERE domain = ANY($1) GROUP BY domain, name`,
    [names],
  );
  const holdings = new Map(
    names.map((name) => [
      name,
      { records: new Map<string, RecordStay[]>(), headers: new Map<string, HeaderState>() },
    ]),
  );
  for (const row of stays.rows) {
    const held = holdings.get(row.domain);
    if (held !== undefined) addTo(held.records, row.type, stayOfRow(row));
  }
  for (const { domain, name, value, present, lastSeen } of headers.rows) {
    holdings.get(domain)?.headers.set(name, { value, present, lastSeen });
  }
  return holdings;
}
