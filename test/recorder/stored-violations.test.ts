import { expect, test } from 'vitest';
import { createToken } from '../../src/auth/tokens.js';
import { readStoredRows, type StoredRows } from '../../src/recorder/read-histories.js';
import { createRecorder } from '../../src/recorder/recorder.js';
import { findStoredViolations, findUnsound } from '../../src/recorder/stored-violations.js';
import { databaseOfFile, openTestDatabase } from '../support/database.js';
import { observation } from '../support/observations.js';
import { looks, observationOf } from '../support/site-looks.js';

const database = databaseOfFile(async ({ pool, prisma }) => {
  const [source, both] = ['probe', ['192.0.2.1', '192.0.2.2']];
  await createRecorder(pool).record([
    observation({ at: 1, records: both, headers: { server: 'ä', via: '' }, source }),
    observation({ at: 2, records: ['192.0.2.2'], types: ['A'], headers: {}, source }),
    ...looks('https@5 http@6 http@7').map((look) => ({ ...observationOf(look), domain: 'example.net' })),
  ]);
  await createToken(prisma, { name: 'a', scopes: ['dns:read'], createdAt: 1n, expiresAt: 2n });
  await pool.query("INSERT INTO watched_domain (name, every, due, scheduled) VALUES ('a.example', 1, 1, 1)");
});

async function rowsOf(name: string): Promise<StoredRows> {
  for await (const rows of readStoredRows(database.pool, [name])) return rows;
  throw new Error(`nothing is recorded of ${name}`);
}

test('what was recorded breaks no rule', async () => {
  expect(findStoredViolations(await rowsOf('example.com'))).toEqual([]);
  expect(findStoredViolations(await rowsOf('example.net'))).toEqual([]);
});

const UNREADABLE = 'dns_types cannot be read';

test.each<[what: string, change: Partial<StoredRows['domain']>, line: string]>([
  ['a size that is not that of the records', { recordOctets: 1n }, 'the column record_octets is 1, and '],
  ['a size that is not that of the headers', { headerOctets: 1n }, 'the column header_octets is 1, and '],
  ['a type without a digest', storedTypes('{"A":{}}'), UNREADABLE],
  ['a type with half of its times', storedTypes('{"A":{"digest":"","first":"1"}}'), UNREADABLE],
  ['a time that is none', storedTypes('{"A":{"digest":"","first":"1","latest":"now"}}'), UNREADABLE],
  ['a type with a further key', storedTypes('{"A":{"digest":"","ttl":"1"}}'), UNREADABLE],
  ['a type not in upper case', storedTypes('{"mx":{"digest":""}}'), 'the type "mx" is not in canonical form'],
])('dms verify finds %s', async (_what, change, line) => {
  const rows = await rowsOf('example.com');
  const found = findStoredViolations({ ...rows, domain: { ...rows.domain, ...change } });
  expect(found.join('\n')).toContain(line);
});

function storedTypes(json: string): Pick<StoredRows['domain'], 'dnsTypes'> {
  return { dnsTypes: JSON.parse(json) };
}

const FAR = '253402300800000000';
const PRESENT = "WHERE rdata ->> 'ip' = '192.0.2.2'";
const REMOVED = "WHERE rdata ->> 'ip' = '192.0.2.1'";

test.each([
  ['a domain without a name', "UPDATE domain SET name = '' WHERE name = 'example.com'"],
  ['a version that is not positive', 'UPDATE domain SET version = 0'],
  ['a domain last updated before it was created', 'UPDATE domain SET last_update = created - 1'],
  ['a last change after the last update', 'UPDATE domain SET last_change = last_update + 1'],
  ['an observation after the year 9999', `UPDATE domain SET last_update = ${FAR}`],
  ['half of the times of DNS', 'UPDATE domain SET dns_first = NULL'],
  ['observations of DNS that end before they begin', 'UPDATE domain SET dns_latest = dns_first - 1'],
  ['types that are a list', `UPDATE domain SET dns_types = '[]'`],
  ['half of the times of HTTP', 'UPDATE domain SET http_latest = NULL'],
  ['HTTP without a digest', 'UPDATE domain SET http_digest = NULL'],
  ['half of the times at which HTTPS was declined', 'UPDATE domain SET https_declined_latest = NULL'],
  ['HTTPS that was declined and never answered', 'UPDATE domain SET https_latest = NULL'],
  ['HTTPS that answered after it was declined', 'UPDATE domain SET https_declined_first = https_latest'],
  ['HTTPS that answered when HTTP was not observed', 'UPDATE domain SET https_latest = 0'],
  ['HTTPS that was declined once at two times', 'UPDATE domain SET https_declined_count = 1'],
  ['half of what is known of a site', 'UPDATE domain SET site_status = NULL'],
  ['a record at a negative place', 'UPDATE dns_record SET position = -1'],
  ['a record whose data is no object', `UPDATE dns_record SET rdata = '"x"'`],
  ['a record after the year 9999', `UPDATE dns_record SET first_seen = ${FAR}`],
  ['a record that is present and was last seen', `UPDATE dns_record SET last_seen = first_seen ${PRESENT}`],
  ['a source of a removal that was not', `UPDATE dns_record SET removed_source = 'x' ${PRESENT}`],
  ['a record that was removed and never last seen', `UPDATE dns_record SET last_seen = NULL ${REMOVED}`],
  ['a record removed before it was last seen', `UPDATE dns_record SET removed = last_seen - 1 ${REMOVED}`],
  ['a header after the year 9999', `UPDATE header_change SET observed_at = ${FAR}`],
  ['a header last seen when it was gone', 'UPDATE header_change SET last_seen = observed_at'],
  ['a header that is gone and was never seen', 'UPDATE header_change SET value = NULL, last_seen = NULL'],
  ['a response after the year 9999', `UPDATE site_response SET observed_at = ${FAR}`],
  ['a watched domain in upper case', "UPDATE watched_domain SET name = 'A.example'"],
  ['an observation that is due before 1970', 'UPDATE watched_domain SET due = -1'],
  ['an observation without an outcome', 'UPDATE watched_domain SET observed_at = 1'],
  ['less than no failures', 'UPDATE watched_domain SET failures = -1'],
  ['a token whose digest is no SHA-256', "UPDATE access_token SET digest = '\\x00'"],
  ['a token that expires before it was made', 'UPDATE access_token SET expires_at = created_at'],
  ['a token revoked after the year 9999', `UPDATE access_token SET revoked_at = ${FAR}`],
])('the database refuses %s', async (_what, statement) => {
  await expect(database.pool.query(statement)).rejects.toMatchObject({ code: CHECK_VIOLATION });
});

/** PostgreSQL, appendix A. */
const CHECK_VIOLATION = '23514';

test('dms verify counts the rows from before a constraint that break it', async () => {
  expect(await findUnsound(database.pool)).toEqual([]);
  const own = await openTestDatabase();
  const constraint = await own.pool.query<{ text: string }>(
    "SELECT pg_get_constraintdef(oid) AS text FROM pg_constraint WHERE conname = 'watched_domain_is_sound'",
  );
  await own.pool.query(
    `ALTER TABLE watched_domain DROP CONSTRAINT watched_domain_is_sound;
     INSERT INTO watched_domain (name, every, due, scheduled) VALUES ('a.example', 1, -1, 1);
     ALTER TABLE watched_domain ADD CONSTRAINT watched_domain_is_sound
       ${constraint.rows[0]?.text.replace(' NOT VALID', '')} NOT VALID`,
  );
  expect(await findUnsound(own.pool)).toEqual([
    '1 rows of the table watched_domain break its constraint watched_domain_is_sound',
  ]);
  await own.close();
});
