import type { RecordStay } from '../history/state.js';
import type { Instant } from '../model/instant.js';

/** A row of table `dns_record`, by STAY_COLUMNS. */
export interface StayRow {
  readonly domain: string;
  readonly first_seen: Instant;
  readonly type: string;
  readonly position: number;
  readonly host: string;
  readonly class: string;
  readonly rdata: string;
  readonly source: string | null;
  readonly removed: Instant | null;
  readonly last_seen: Instant | null;
  readonly removed_source: string | null;
}

/** The columns of a StayRow: the rdata as the text that was stored. */
export const STAY_COLUMNS = `domain, first_seen, type, position, host, class, rdata::text AS rdata, source,
            removed, last_seen, removed_source`;

/** Translates a row to what the rules of history know. */
export function stayOfRow(row: StayRow): RecordStay {
  const { removed, last_seen: lastSeen } = row;
  return {
    firstSeen: row.first_seen,
    position: row.position,
    record: { host: row.host, class: row.class, type: row.type, rdata: row.rdata },
    source: row.source,
    removal:
      removed === null ? null : { removed, lastSeen: lastSeen ?? row.first_seen, source: row.removed_source },
  };
}
