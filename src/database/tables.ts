import type { Distribution } from './distribution.js';
import { Prisma, type PrismaClient } from './generated/client.js';
import { FEED_LOCK } from './transaction.js';

type Reader = Pick<PrismaClient, '$queryRaw' | '$executeRaw'>;

export interface TextLookup {
  readonly table: Prisma.Sql;
  readonly text: Prisma.Sql;
  /** Of the text, where an index has that in its place. */
  readonly hash?: Prisma.Sql;
  readonly condition: Prisma.Sql;
}

/** How statements reach the tables of domains, whichever way these are stored. */
export interface Tables {
  /** Whether searches are those of loaders/search-shards.ts, and other statements for one domain. */
  readonly acrossShards: boolean;
  /** Queries of a WITH clause, each with a comma after it, that take the place of tables. */
  replaced(conditions: Readonly<Record<string, Prisma.Sql>>): Prisma.Sql;
  /** Waits until the changes of what the feed has are visible. */
  awaitWriters(prisma: Reader): Promise<unknown>;
  /** In FROM: the results of a statement on each part of a table, whose name takes the place of `%s`. */
  eachPart(table: string, statement: string): Prisma.Sql;
  findPresent(prisma: Reader, lookup: TextLookup, texts: readonly string[]): Promise<ReadonlySet<string>>;
}

export function tablesOf({ kind }: Distribution): Tables {
  return kind === 'shards' ? ON_SHARDS : ON_SERVER;
}

/** Tables that are whole, or in partitions. */
export const ON_SERVER: Tables = {
  acrossShards: false,
  replaced: () => Prisma.empty,
  awaitWriters: async () => undefined,
  eachPart: (table, statement) =>
    Prisma.raw(`(SELECT true AS success, (${statement.replace('%s', table)}) AS result) AS whole`),
  // Each is looked up by an index, up to the first row that has it: a join might read whole tables, and all
  // rows of what is common.
  async findPresent(prisma, { table, text, hash, condition }, texts) {
    const isHash = hash === undefined ? Prisma.empty : Prisma.sql`AND ${hash} = hashtextextended(sought, 0)`;
    const rows = await prisma.$queryRaw<{ text: string }[]>`
      SELECT sought AS text FROM unnest(${texts}::text[]) AS sought
       WHERE (SELECT true FROM ${table} WHERE ${condition} AND ${text} = sought ${isHash} LIMIT 1)`;
    return new Set(rows.map((row) => row.text));
  },
};

/**
 * Tables over the nodes of a Citus cluster. It finds nothing by values of an outer query, and joins by nothing
 * but the domain: each table is read by a query of its own.
 */
export const ON_SHARDS: Tables = {
  acrossShards: true,
  replaced(conditions) {
    const queries = Object.entries(conditions).map(
      ([table, condition]) =>
        Prisma.sql`${Prisma.raw(table)} AS MATERIALIZED (SELECT * FROM ${Prisma.raw(table)} WHERE ${condition}),`,
    );
    return Prisma.join(queries, ' ');
  },
  // The feed is on the coordinator, which commits a transaction before the nodes do. So a row may be there
  // whose changes are not: its writer holds the lock until they are.
  awaitWriters: (prisma) => prisma.$executeRaw`SELECT pg_advisory_xact_lock_shared(${FEED_LOCK})`,
  eachPart: (table, statement) => Prisma.sql`run_command_on_shards(${table}::regclass, ${statement})`,
  async findPresent(prisma, { table, text, hash, condition }, texts) {
    const hashes = await prisma.$queryRaw<{ hash: bigint }[]>`
      SELECT hashtextextended(text, 0) AS hash FROM unnest(${texts}::text[]) AS text`;
    const isSought =
      hash === undefined
        ? Prisma.sql`${text} = ANY (${texts}::text[])`
        : Prisma.sql`${hash} = ANY (${hashes.map((row) => row.hash)}::bigint[])`;
    const rows = await prisma.$queryRaw<{ text: string }[]>`
      SELECT DISTINCT ${text} AS text FROM ${table} WHERE ${condition} AND ${isSought}`;
    return new Set(rows.map((row) => row.text));
  },
};
