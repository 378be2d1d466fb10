import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { readStoredRows } from '../../src/recorder/read-histories.js';
import { createRecorder } from '../../src/recorder/recorder.js';
import { findStoredViolations } from '../../src/recorder/stored-violations.js';
import { emptyTestDatabase, openTestDatabase, type TestDatabase } from '../support/database.js';
import { observation } from '../support/observations.js';
import { looks, observationOf } from '../support/site-looks.js';

let database: TestDatabase;

beforeAll(async () => {
  database = await openTestDatabase();
});
beforeEach(async () => {
  await emptyTestDatabase(database);
  await createRecorder(database.pool).record([
    observation({
      at: 1,
      records: ['192.0.2.1', '192.0.2.2'],
      headers: { server: 'ä', via: '' },
      source: 'probe',
    }),
    observation({ at: 2, records: ['192.0.2.2'], types: ['A'], headers: {}, source: 'probe' }),
    ...looks('https@5 http@6 http@7').map((look) => ({ ...observationOf(look), domain: 'example.net' })),
  ]);
});
afterAll(() => database.close());

async function violations(): Promise<string[]> {
  const found: string[] = [];
  for await (const rows of readStoredRows(database.pool)) found.push(...findStoredViolations(rows));
  return found;
}

const PRESENT = "WHERE rdata->>'ip' = '192.0.2.2'";
const REMOVED = "WHERE rdata->>'ip' = '192.0.2.1'";

describe('checking the rows of a domain', () => {
  test('finds nothing in what was recorded', async () => {
    expect(await violations()).toEqual([]);
  });

  test.each([
    [
      'a record that is present and was last seen',
      `UPDATE dns_record SET last_seen = first_seen ${PRESENT}`,
      'the column last_seen is ',
    ],
    [
      'a record that is present and has a source of its removal',
      `UPDATE dns_record SET removed_source = 'x' ${PRESENT}`,
      'the column removed_source is x, and should be null',
    ],
    [
      'a record that was removed and never last seen',
      `UPDATE dns_record SET last_seen = NULL ${REMOVED}`,
      'the column last_seen is null, and should be ',
    ],
    ['half of the times of DNS', 'UPDATE domain SET dns_first = NULL', 'the column dns_latest is '],
    ['half of the times of HTTP', 'UPDATE domain SET http_latest = NULL', 'the column http_first is '],
    [
      'HTTP without a digest',
      'UPDATE domain SET http_digest = NULL',
      'the column http_digest is null, and should be ',
    ],
    [
      'a size that is not that of the records',
      'UPDATE domain SET record_octets = record_octets + 1, header_octets = header_octets - 1',
      'the column record_octets is ',
    ],
    [
      'a size that is not that of the headers',
      'UPDATE domain SET record_octets = record_octets + 1, header_octets = header_octets - 1',
      'the column header_octets is ',
    ],
    ['types that are a list', `UPDATE domain SET dns_types = '[]'`, 'dns_types cannot be read'],
    ['types that are null', `UPDATE domain SET dns_types = 'null'`, 'dns_types cannot be read'],
    ['a type without a digest', `UPDATE domain SET dns_types = '{"A":{}}'`, 'dns_types cannot be read'],
    [
      'a type with half of its times',
      `UPDATE domain SET dns_types = '{"A":{"digest":"","first":"1"}}'`,
      'dns_types cannot be read',
    ],
    [
      'a type with a time that is none',
      `UPDATE domain SET dns_types = '{"A":{"digest":"","first":"1","latest":"now"}}'`,
      'dns_types cannot be read',
    ],
    [
      'a type with a further key',
      `UPDATE domain SET dns_types = '{"A":{"digest":"","ttl":"1"}}'`,
      'dns_types cannot be read',
    ],
    [
      'a name that is empty',
      `UPDATE domain SET name = '' WHERE name = 'example.com'`,
      'the name is not in canonical form',
    ],
    ['data that is no object', `UPDATE dns_record SET rdata = '"x"' ${PRESENT}`, 'is not in canonical form'],
    [
      'a type not in upper case',
      `UPDATE domain SET dns_types = dns_types || '{"mx":{"digest":""}}'`,
      'the type "mx" is not in canonical form',
    ],
    [
      'a time beyond the year 9999',
      'UPDATE header_change SET observed_at = 9223372036854775807 WHERE value IS NOT NULL',
      'outside the years 0000 to 9999',
    ],
    [
      'half of the times at which HTTPS was declined',
      'UPDATE domain SET https_declined_latest = NULL',
      'the column https_declined_first is ',
    ],
    [
      'HTTPS that was declined and never answered',
      'UPDATE domain SET https_latest = NULL',
      'the column https_declined_first is ',
    ],
    [
      'HTTPS that answered after it was declined',
      'UPDATE domain SET https_latest = http_latest, https_declined_first = http_latest',
      'HTTPS was declined from',
    ],
    [
      'HTTPS that answered when HTTP was not observed',
      'UPDATE domain SET https_latest = 0',
      'the latest observation over HTTPS is outside those of HTTP',
    ],
    [
      'HTTPS that was declined once at two times',
      'UPDATE domain SET https_declined_count = 1',
      'HTTPS was declined in 1 observations',
    ],
    [
      'a response when HTTP was not observed',
      'UPDATE site_response SET observed_at = 0',
      'the observations give 1970-01-01T00:00:00.000000Z',
    ],
    [
      'a response of an observation that the times of HTTP do not have',
      'UPDATE site_response SET observed_at = observed_at - 1',
      'http is {',
    ],
    [
      'a response of what is no address',
      "UPDATE site_response SET address = '192.0.2.07'",
      'is of "192.0.2.07", which is not an IP address in canonical form',
    ],
  ])('finds %s', async (_what, statement, line) => {
    await database.pool.query(statement);
    expect((await violations()).join('\n')).toContain(line);
  });
});
