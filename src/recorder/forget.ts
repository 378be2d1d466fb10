import type { Pool } from 'pg';
import { inTransaction } from '../database/transaction.js';

/**
 * Erases everything that is recorded of domains.
 *
 * The domain's row goes first: it is what a recorder at work on the same domain holds, so that the
 * later statements see, and erase, all that it wrote.
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
    await client.query('DELETE FROM dns_record WHERE domain = ANY($1)', [names]);
    await client.query('DELETE FROM header_change WHERE domain = ANY($1)', [names]);
    return rows.map(({ name }) => name).sort();
  });
}
