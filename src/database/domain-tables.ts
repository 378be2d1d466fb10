import type pg from 'pg';
import type { Prisma, PrismaClient } from './generated/client.js';

/**
 * The tables whose rows belong to a domain, each with the column that has its name: hash partitions of one
 * number, or shards of one number, have the same domains. All other tables stay whole: what is in them belongs
 * to many domains, or to none.
 */
export const DOMAIN_TABLES = [
  ['domain', 'name'],
  ['dns_record', 'domain'],
  ['header_change', 'domain'],
  ['site_response', 'domain'],
  ['earlier_changes', 'domain'],
  ['watched_domain', 'name'],
] as const;

export const TABLE_NAMES = DOMAIN_TABLES.map(([table]) => table);

/** How many hash partitions each has: 0 where they are whole. */
export async function countPartitions(database: pg.Pool | pg.PoolClient): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    "SELECT count(*)::int FROM pg_inherits WHERE inhparent = to_regclass('domain')",
  );
  return rows[0]?.count ?? 0;
}

/** A query on a part of a table: on a partition or shard, or on the whole of it. */
export interface PartQuery {
  readonly table: string;
  /** The columns that it gives, with their types. */
  readonly columns: string;
  /** Values that it needs of other tables: a query for `value`, and the type of an array of them. */
  readonly given?:
    | { readonly query: Prisma.Sql; readonly type: 'bigint[]' | 'text[] COLLATE "C"' }
    | undefined;
  /** @param given Rows with `value`, to stand in FROM. */
  readonly query: (part: Prisma.Sql, given: Prisma.Sql) => Prisma.Sql;
}

/** How statements reach the tables of domains, whichever way these are stored. */
export interface Tables {
  /** Of how many domains a statement may be, so that it goes to no other part than theirs. */
  readonly maxDomains: number;
  /** Queries of a WITH clause, each with a comma after it, that take the place of tables. */
  replaced(queries: Readonly<Record<string, Prisma.Sql>>): Prisma.Sql;
  /** Waits until the changes of what the feed has are visible. */
  awaitWriters(prisma: Pick<PrismaClient, '$executeRaw'>): Promise<unknown>;
  /**
   * Queries of a WITH clause: `answer` has what the parts of a table answer. Beside the columns, a row has a text
   * `outcome`, for requireAnswers().
   */
  eachPart(query: PartQuery): Prisma.Sql;
}
