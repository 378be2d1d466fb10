import { expect, test } from 'vitest';
import { judgeAnew } from '../../src/recorder/judge-anew.js';
import { createRecorder } from '../../src/recorder/recorder.js';
import { databaseOfFile } from '../support/database.js';
import { type ObservationParts, observation } from '../support/observations.js';

const database = databaseOfFile();

const LOOKS: readonly ObservationParts[] = Array.from({ length: 8 }, (_, at) => ({
  ...{ at, records: [`192.0.2.${at % 2}`], headers: { server: 'a', etag: `"${at}"` }, status: 200 },
}));

/** All that is stored of why changes are routine. */
async function judgement(): Promise<object[]> {
  const { pool } = database;
  const statements = [
    'SELECT domain, first_seen, routine, removed_routine FROM dns_record ORDER BY domain, first_seen, position',
    'SELECT domain, name, observed_at, routine FROM header_change ORDER BY domain, name, observed_at',
    'SELECT * FROM earlier_changes ORDER BY domain, type, name',
  ];
  const results = await Promise.all(statements.map((text) => pool.query<object>(text)));
  return results.map(({ rows }) => rows);
}

test('what was judged by other rules is judged again, and only then: it is what recording gives, and is done once', async () => {
  const domains = ['one.example', 'two.example'];
  const observations = domains.flatMap((domain) => LOOKS.map((look) => observation({ ...look, domain })));
  await createRecorder(database.pool).record(observations);
  const recorded = await judgement();
  let begun = 0;
  const judge = () => judgeAnew(database.pool, () => (begun += 1));
  expect(await judge()).toBe(0);
  expect(begun).toBe(0);
  await database.pool.query(`
    UPDATE dns_record SET routine = NULL, removed_routine = NULL; UPDATE header_change SET routine = NULL;
    DELETE FROM earlier_changes; DELETE FROM judged_by`);
  expect(await judge()).toBe(2);
  expect(begun).toBe(1);
  expect(await judgement()).toEqual(recorded);
  expect(await judge()).toBe(0);
  expect(begun).toBe(1);
});
