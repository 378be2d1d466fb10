import { FAILED, ON_SHARDS } from './citus.js';
import type { Distribution } from './distribution.js';
import type { Tables } from './domain-tables.js';
import { Prisma } from './generated/client.js';

export type { PartQuery, Tables } from './domain-tables.js';

export function tablesOf({ kind }: Distribution): Tables {
  return kind === 'shards' ? ON_SHARDS : ON_SERVER;
}

/** Tables that are whole, or in partitions: PostgreSQL reads these as one. */
export const ON_SERVER: Tables = {
  maxDomains: Number.POSITIVE_INFINITY,
  replaced: () => Prisma.empty,
  awaitWriters: async () => undefined,
  eachPart: ({ table, given, query }) =>
    Prisma.sql`answer AS MATERIALIZED (${query(Prisma.raw(table), given ? Prisma.sql`(${given.query}) AS given` : Prisma.empty)})`,
};

/** @throws Error with what a node of a cluster, or its connection, says where a part of a table was not read. */
export function requireAnswers(outcomes: readonly string[]): void {
  const failed = outcomes.find((outcome) => outcome.startsWith(FAILED));
  if (failed !== undefined) throw new Error(failed.slice(FAILED.length));
}
