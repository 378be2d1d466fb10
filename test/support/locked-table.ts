import type { Pool } from 'pg';

/** Keeps everybody from reading tables, by default domains and which schema they have, until the work is done, as an administrator's long migration does. */
export async function whileLocked(
  pool: Pool,
  work: () => Promise<void>,
  tables = 'domain, schema_migration',
) {
  const client = await pool.connect();
  try {
    await client.query(`BEGIN; LOCK TABLE ${tables} IN ACCESS EXCLUSIVE MODE`);
    await work();
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
}
