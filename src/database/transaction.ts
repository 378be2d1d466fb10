import type pg from 'pg';

// The keys of advisory locks, which are one set of numbers in a database.

/** Held while the schema is changed: one process migrates at a time. */
export const MIGRATION_LOCK = 4_155_927_201n;

/** Held by who writes the feed, from the numbering of its rows until they are committed. */
export const FEED_LOCK = 0x646d73_66656564n;

/**
 * Nothing is retried here. On the embedded database all other clients wait for the transaction: `work` must wait
 * for nothing but its own statements.
 *
 * @param lastStatements The statements after `work`, given its result. They are sent together with COMMIT, so
 *   that no lock is held while this process does something else. Their parameters are texts, numbers,
 *   booleans or null, which the driver cannot fail to send.
 * @throws What `work` throws, unchanged; the database's error if it cannot begin or commit; Error if `work`
 *   has ignored a failed statement, since PostgreSQL then responds to COMMIT by rolling back.
 */
export async function inTransaction<Result>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<Result>,
  lastStatements: (result: Result) => readonly pg.QueryConfig[] = () => [],
): Promise<Result> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    const result = await work(client);
    // If the database rejects one of them, COMMIT rolls back, and the error is that of the first.
    const last = lastStatements(result).map((statement) => client.query(statement));
    const [{ command }] = await Promise.all([client.query('COMMIT'), ...last]);
    if (command !== 'COMMIT') throw new Error('The transaction was rolled back: a statement had failed.');
    client.release();
    return result;
  } catch (error) {
    // The pool closes a connection that cannot even roll back.
    await client.query('ROLLBACK').then(
      () => client.release(),
      () => client.release(true),
    );
    throw error;
  }
}
