import type { Pool } from 'pg';
import { RULES } from '../history/routine.js';
import { extendDomains } from './extend-domains.js';

const PAGE_DOMAINS = 1_000;

/**
 * Judges all changes again, if they were judged by other rules: after an interruption, from the beginning.
 *
 * @param begin Is called once if there is something to do.
 * @returns how many domains have another judgement.
 */
export async function judgeAnew(pool: Pool, begin: () => void): Promise<number> {
  const judged = await pool.query<{ rules: number }>('SELECT rules FROM judged_by');
  if (judged.rows[0]?.rules === RULES) return 0;
  begin();
  let changed = 0;
  for (let after = ''; ; ) {
    const { rows } = await pool.query<{ name: string }>(
      'SELECT name FROM domain WHERE name > $1 ORDER BY name LIMIT $2',
      [after, PAGE_DOMAINS],
    );
    const last = rows.at(-1);
    if (last === undefined) break;
    // A history that is extended is judged as a whole.
    const domains = rows.map(({ name }) => ({ name, observations: [] }));
    const judged = await extendDomains(pool, domains, { older: true });
    changed += judged.filter(({ writing }) => writing !== null).length;
    after = last.name;
  }
  await pool.query(
    'INSERT INTO judged_by (rules) VALUES ($1) ON CONFLICT (id) DO UPDATE SET rules = excluded.rules',
    [RULES],
  );
  return changed;
}
