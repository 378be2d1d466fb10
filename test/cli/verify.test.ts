import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runDms } from '../journeys/dms-command.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { addressRecord, observationLine } from '../support/observations.js';

let database: TestDatabase;

beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

test('dms verify checks all that is recorded, prints a line for each violation, with --json an object, and exits 1', async () => {
  const line = observationLine({ at: 1, records: ['192.0.2.1'], headers: { server: 'a' } });
  const text = { host: 'example.net', class: 'IN', type: 'TXT', entries: ['v=spf1 -all'] };
  const other = observationLine({
    ...{ domain: 'example.net', at: 1, records: [addressRecord('www.example.net', '192.0.2.1'), text] },
    headers: { via: 'b' },
  });
  await runDms(['import', '-'], database.environment, Readable.from([`${line}\n${other}`]));
  const sound = 'No violations in 2 domains, 3 DNS record entries, 2 header changes.\n';
  expect(await runDms(['verify'], database.environment)).toMatchObject({ code: 0, stdout: sound });
  for (const statement of [
    "UPDATE dns_record SET position = 1 WHERE domain = 'example.net' AND type = 'A'",
    "UPDATE header_change SET value = 'a ' WHERE domain = 'example.com'",
    "DELETE FROM known_name WHERE name = 'www.example.net'",
    "DELETE FROM known_text WHERE kind IN ('TXT', 'via')",
    "INSERT INTO header_change VALUES ('orphan.example', 'server', 1, 'x', null, null)",
  ]) {
    await database.pool.query(statement);
  }
  const { code, stdout, stderr } = await runDms(['verify'], database.environment);
  expect(code).toBe(1);
  expect(stdout.trimEnd().split('\n')).toEqual([
    'example.com: the column header_octets is 88, and should be 90',
    'example.com: a value of the header "server" "a " is not in canonical form',
    expect.stringMatching(
      /^example\.net: .* IN A .* is ."position":1,.*; the observations give ."position":0,/,
    ),
    'example.com: searches do not find the server text "a "',
    'example.net: searches do not find the name "www.example.net"',
    'example.net: searches do not find the TXT text "v=spf1 -all"',
    'example.net: searches do not find the via text "b"',
    'orphan.example: records, headers or responses without a row for the domain',
  ]);
  const objects = await runDms(['verify', '--json'], database.environment);
  const violations = objects.stdout
    .trimEnd()
    .split('\n')
    .map((each) => JSON.parse(each).violation);
  expect(violations).toEqual(stdout.trimEnd().split('\n'));
  expect(stderr).toBe(
    'dms: 8 violations in 2 domains, 3 DNS record entries, 2 header changes; each is a line above.\n',
  );
});
