import type pg from 'pg';
import type { Instant } from '../../src/model/instant.js';

/** 2024-03-01T10:20:30.123456Z. */
export const FIRST_SEEN: Instant = 1_709_288_430_123_456n;

/** A row of table `domain`; the times default to FIRST_SEEN, and to no change since. */
export interface DomainRow {
  readonly name: string;
  readonly created?: Instant;
  readonly lastUpdate?: Instant;
  readonly lastChange?: Instant | null;
}

/** A row of table `dns_record`; `host` defaults to the domain, `position` to the place in the list. */
export interface DnsRecordRow {
  readonly type: string;
  readonly rdata: Readonly<Record<string, unknown>>;
  readonly host?: string;
  readonly class?: string;
  readonly firstSeen?: Instant;
  readonly removed?: Instant | null;
  /** Of one that was removed; defaults to its first sight. */
  readonly lastSeen?: Instant;
}

/** A row of table `header_change`: a value, or without one the header gone. */
export interface HeaderChangeRow {
  readonly name: string;
  readonly observedAt: Instant;
  readonly value?: string;
  /** Of one that is gone; defaults to the microsecond before. */
  readonly lastSeen?: Instant;
}

export async function insertDomain(pool: pg.Pool, row: DomainRow): Promise<void> {
  const { name, created = FIRST_SEEN, lastUpdate = FIRST_SEEN, lastChange = null } = row;
  await pool.query(
    `INSERT INTO domain (name, version, recorded_at, created, last_update, last_change, dns_types)
     VALUES ($1, 1, 0, $2, $3, $4, '{}')`,
    [name, created, lastUpdate, lastChange],
  );
}

export async function insertDnsRecords(pool: pg.Pool, domain: string, rows: readonly DnsRecordRow[]) {
  for (const [position, row] of rows.entries()) {
    await pool.query(
      `INSERT INTO dns_record (domain, first_seen, type, position, host, class, rdata, removed, last_seen)
       VALUES ($1, $2, $3, $4, $5, $6, $7::json, $8, $9)`,
      [
        ...[domain, row.firstSeen ?? FIRST_SEEN, row.type, position, row.host ?? domain, row.class ?? 'IN'],
        ...[JSON.stringify(row.rdata), row.removed ?? null],
        row.removed == null ? null : (row.lastSeen ?? row.firstSeen ?? FIRST_SEEN),
      ],
    );
  }
}

export async function insertHeaderChanges(pool: pg.Pool, domain: string, rows: readonly HeaderChangeRow[]) {
  for (const { name, observedAt, value = null, lastSeen = observedAt - 1n } of rows) {
    await pool.query(
      'INSERT INTO header_change (domain, name, observed_at, value, last_seen) VALUES ($1, $2, $3, $4, $5)',
      [domain, name, observedAt, value, value === null ? lastSeen : null],
    );
  }
}
