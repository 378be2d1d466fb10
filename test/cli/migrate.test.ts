import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { runDms, startLocalDms } from '../journeys/dms-command.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { observationLine } from '../support/observations.js';

let database: TestDatabase;

beforeAll(async () => {
  database = await openTestDatabase();
  const line = observationLine({ at: 1, records: ['192.0.2.1'], headers: { server: 'a' } });
  const dnskey = { host: 'example.com', class: 'IN', type: 'DNSKEY', data: '257 3 8 AwEAaagA' };
  const txt = { host: 'example.com', class: 'IN', type: 'TXT', entries: ['a text'] };
  const more = observationLine({ at: 2, records: [dnskey, txt], types: ['DNSKEY', 'TXT'] });
  await runDms(['import', '-'], database.environment, Readable.from([`${line}\n${more}\n`]));
});
afterAll(() => database.close());

/** As a version before 0006 left it. */
beforeEach(async () => {
  for (const statement of [
    'DROP INDEX watched_domain_due_normal',
    'DROP INDEX watched_domain_due_low',
    'DROP INDEX dns_record_removed, dns_record_last_seen, header_change_observed_at',
    'DROP TABLE known_name, known_text, change_feed, primary_server, erased_text',
    'DROP INDEX dns_record_address, dns_record_target, dns_record_rname, dns_record_text, dns_record_host',
    'DROP INDEX dns_record_present, dns_record_removed_by_type, header_change_value',
    'DROP INDEX domain_created, domain_last_change, dns_record_host_name',
    'DROP FUNCTION host_name_of',
    'ALTER TABLE dns_record DROP COLUMN first_sighted, DROP COLUMN last_sighted',
    'ALTER TABLE domain DROP COLUMN kept_times',
    'ALTER TABLE header_change DROP COLUMN last_seen, ADD COLUMN present boolean NOT NULL DEFAULT true',
    'CREATE INDEX watched_domain_due ON watched_domain (due)',
    'ALTER TABLE schema_migration DROP COLUMN works_since',
    "DELETE FROM schema_migration WHERE name >= '0006'",
    `UPDATE dns_record SET rdata = '{"data":"257 3 8 AwEA aagA"}' WHERE type = 'DNSKEY'`,
    // As before TXT had fields of its own.
    `UPDATE dns_record SET rdata = '{"data":"\\"a text\\""}' WHERE type = 'TXT'`,
    'ALTER TABLE domain DROP COLUMN record_octets, DROP COLUMN header_octets',
    'ALTER TABLE domain ADD COLUMN history_octets bigint NOT NULL DEFAULT 0',
    'DELETE FROM import_count',
    "INSERT INTO import_count VALUES ('changed', 1), ('refused', 2)",
    'DELETE FROM watched_domain',
    `INSERT INTO watched_domain (name, every, due, scheduled, observed_at, outcome)
     VALUES ('example.com', 86400000000, 1, 1, 1, '${JSON.stringify(outcomeWith('looks'))}')`,
  ]) {
    await database.pool.query(statement);
  }
});

/** The outcome of a check whose response over HTTP was held back, with the name of the number of checks. */
function outcomeWith(key: string): object {
  const heldBack = { since: '2024-03-01T00:00:00Z', [key]: 1, until: '2024-03-02T00:00:00Z' };
  const http = { scheme: 'http', status: 200, address: '192.0.2.7', heldBack };
  return { dns: { answered: ['A'], failures: {}, nameExists: true }, http };
}

const SHOWN = [
  'Migrating 1 domains. It may be stopped and run again.',
  'The records of 1 domains were rewritten in their canonical text.',
];

describe('a database whose rows have to be rewritten', () => {
  test('dms migrate reports that it rewrites them, and what it has done', async () => {
    const { code, stdout, stderr } = await runDms(['migrate'], database.environment);
    expect(stderr.trimEnd().split('\n')).toEqual(SHOWN);
    const pending = readdirSync('prisma/migrations').filter((name) => name >= '0006' && name < 'a');
    expect(stdout).toBe(pending.map((name) => `applied ${name}\n`).join(''));
    expect(code).toBe(0);
    expect((await runDms(['verify'], database.environment)).stdout).toMatch(/^No violations/);
    const { rows } = await database.pool.query(`SELECT text FROM known_text WHERE kind = 'TXT'`);
    expect(rows).toEqual([{ text: 'a text' }]);
    expect(await runDms(['migrate'], database.environment)).toMatchObject({
      code: 0,
      stdout: 'The database is up to date.\n',
      stderr: '',
    });
  });

  test('stored values get their present names', async () => {
    await runDms(['migrate'], database.environment);
    const { rows: counts } = await database.pool.query('SELECT outcome, lines FROM import_count ORDER BY 1');
    expect(counts).toEqual([
      { outcome: 'changed', lines: 1n },
      { outcome: 'rejected', lines: 2n },
    ]);
    const { rows } = await database.pool.query('SELECT outcome FROM watched_domain');
    expect(rows).toEqual([{ outcome: outcomeWith('checks') }]);
  });

  test('so does any other command', async () => {
    const { stderr } = await runDms(['verify'], database.environment);
    expect(stderr.trimEnd().split('\n')).toEqual(SHOWN);
  });

  test('so does dms serve, before it listens', async () => {
    const { stdout, stop, result } = startLocalDms(['serve'], { PORT: '0', ...database.environment });
    await once(stdout, 'data');
    stop();
    expect((await result).stderr.split('\n').slice(0, 2)).toEqual(SHOWN);
  });
});
