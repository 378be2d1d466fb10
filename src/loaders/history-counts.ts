import { Prisma } from '../database/generated/client.js';

/** How much there is of a domain's history. */
export interface HistoryCounts {
  /** DNS entries: records present and records removed. */
  readonly dnsRecords: number;
  /** Headers that ever had a value. */
  readonly httpHeaders: number;
  /** DNS records added and removed; headers created, updated, gone, and back with the same value. */
  readonly changes: number;
}

/** The counts of a row of table `domain`, for parseHistoryCounts. */
export const HISTORY_COUNTS_SQL = Prisma.sql`
  (SELECT count(*) || ',' || count(removed) FROM dns_record WHERE dns_record.domain = domain.name)
  || ',' ||
  (SELECT count(DISTINCT name) FILTER (WHERE value IS NOT NULL) || ',' || count(*)
     FROM header_change WHERE header_change.domain = domain.name)`;

/** The counts from what HISTORY_COUNTS_SQL gives. */
export function parseHistoryCounts(text: string): HistoryCounts {
  const [added = 0, removed = 0, httpHeaders = 0, headerChanges = 0] = text.split(',').map(Number);
  return { dnsRecords: added, httpHeaders, changes: added + removed + headerChanges };
}
