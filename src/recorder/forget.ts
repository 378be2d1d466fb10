import type { Pool } from 'pg';
import { inTransaction } from '../database/transaction.js';

/**
 * Erases everything that is recorded of domains.
 *
 * The domain's row goes first: it is what a recorder at work on the same domain holds, so that the
 * later statements see, and erase, all that it wrote. A domain that is recorded for the first time
 * between two of the statements has a row when the later one looks, and keeps all that was written with it.
 *
 * @param names canonical names.
 * @returns those of them that were recorded.
 */
export async function forget(pool: Pool, names: readonly string[]): Promise<string[]> {
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<{ name: string }>(
      'DELETE FROM domain WHERE name = ANY($1) RETURNING name',
      [names],
    );
    for (const table of ['dns_record', 'header_change', 'site_response']) {
      await client.query(
        `DELETE FROM ${table} AS part
          WHERE domain = ANY($1) AND NOT EXISTS (SELECT FROM domain WHERE name = part.domain)`,
        [names],
      );
    }
    return rows.map(({ name }) => name).sort();
  });
}
