import { Prisma, type PrismaClient } from '../database/generated/client.js';
import type { Instant } from '../model/instant.js';
import { cell, splitInstants } from './columns.js';
import type { Requested } from './recipient.js';

/** The row of a domain: all that is known of it without its history. */
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

/** A domain by its canonical name, and the recipient. */
export interface DomainRowKey extends Requested {
  readonly name: string;
}

/**
 * Domains in one statement. Small batches let PostgreSQL work on one while this process works on another; with 64
 * the two wait for each other.
 */
export const BATCH_SIZE = 8;

/** The numbers of a row of table `domain`, for parseDomainRow. */
export const DOMAIN_ROW_SQL = Prisma.raw(
  "created || ',' || last_update || ',' || coalesce(last_change, created) || ',' || recorded_at || ',' || version",
);

/**
 * Loads the rows of up to BATCH_SIZE domains by one SQL statement, which reads no other table.
 *
 * @returns For each key in its place the row, or null where nothing is recorded of the domain.
 */
export async function loadDomainRows(
  prisma: PrismaClient,
  keys: readonly DomainRowKey[],
): Promise<(DomainRow | null)[]> {
  const found = await prisma.$queryRaw<{ name: string; numbers: string }[]>`
    SELECT name, ${DOMAIN_ROW_SQL} AS numbers FROM domain WHERE name IN (${namesOfBatch(keys)})`;
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

/**
 * Eight names for every batch, the last repeated, so that there is one text of the statement, prepared once. An array
 * would do, but PostgreSQL keeps a plan for every batch only if it costs at most as much as one for a single batch: it
 * takes an array of unknown length for one of ten, and would plan each batch again.
 */
export function namesOfBatch(keys: readonly DomainRowKey[]): Prisma.Sql {
  const last = keys.length - 1;
  return Prisma.join(Array.from({ length: BATCH_SIZE }, (_, place) => keys[Math.min(place, last)]?.name));
}
