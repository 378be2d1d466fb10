import type { Pool } from 'pg';

/**
 * Finds domains' names in the tables of records, headers and responses that table `domain` does not have. No
 * foreign key keeps them out: one check for each row written would cost more than the row.
 *
 * @returns at most 100 names.
 */
export async function findOrphans(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ domain: string }>(
    `SELECT DISTINCT domain FROM (
       SELECT domain FROM dns_record UNION ALL SELECT domain FROM header_change
        UNION ALL SELECT domain FROM site_response
     ) AS child
      WHERE NOT EXISTS (SELECT FROM domain WHERE domain.name = child.domain)
      LIMIT 100`,
  );
  return rows.map(({ domain }) => domain);
}
