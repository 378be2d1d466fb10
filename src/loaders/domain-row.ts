import type { PrismaClient } from '../database/generated/client.js';
import type { Instant } from '../model/instant.js';
import { cell, splitInstants } from './columns.js';
import type { Requested } from './recipient.js';

/** What the row of a domain tells: all that is known of it without a look into its history. */
export interface DomainRow {
  readonly name: string;
  readonly created: Instant;
  readonly lastUpdate: Instant;
  readonly lastChange: Instant;
  /** Wall-clock time of the latest recording. */
  readonly recordedAt: Instant;
  /** Grows with every recorded observation and is never used twice. */
  readonly version: bigint;
}

/** A domain by its canonical name, and who for. */
export interface DomainRowKey extends Requested {
  readonly name: string;
}

/** Domains in one statement: see loadDomainHistories. */
export const BATCH_SIZE = 8;

/** The numbers of the row of table `domain` at hand, for parseDomainRow. */
export const DOMAIN_ROW_SQL = `
  created || ',' || last_update || ',' || coalesce(last_change, created) || ',' || recorded_at || ',' || version`;

const ROWS_SQL = `
  SELECT name, ${DOMAIN_ROW_SQL} AS numbers
    FROM domain
   WHERE name IN ($1, $2, $3, $4, $5, $6, $7, $8)`;

/**
 * Loads what the rows of up to BATCH_SIZE domains tell by one SQL statement, which reads no other table.
 *
 * @returns For each key in its place the row, or null where nothing is recorded of the domain.
 */
export async function loadDomainRows(
  prisma: PrismaClient,
  keys: readonly DomainRowKey[],
): Promise<(DomainRow | null)[]> {
  const found = await prisma.$queryRawUnsafe<{ name: string; numbers: string }[]>(
    ROWS_SQL,
    ...fillBatch(keys.map(({ name }) => name)),
  );
  const rows = new Map(found.map(({ name, numbers }) => [name, parseDomainRow(name, numbers)]));
  return keys.map(({ name }) => rows.get(name) ?? null);
}

/** The row from what DOMAIN_ROW_SQL gives. */
export function parseDomainRow(name: string, joined: string): DomainRow {
  const numbers = splitInstants(joined);
  return {
    name,
    created: cell(numbers, 0),
    lastUpdate: cell(numbers, 1),
    lastChange: cell(numbers, 2),
    recordedAt: cell(numbers, 3),
    version: cell(numbers, 4),
  };
}

/** The names of a batch, and the last again in the places that are left. */
export function fillBatch(names: readonly string[]): readonly (string | undefined)[] {
  const last = names.length - 1;
  return Array.from({ length: BATCH_SIZE }, (_, place) => names[Math.min(place, last)]);
}
