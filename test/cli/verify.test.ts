import { expect, test } from 'vitest';
import { prepareCommands } from '../support/commands.js';
import { addressRecord, observationLine } from '../support/observations.js';

const commands = prepareCommands();
const { dms, said, objects } = commands;

test('dms verify checks all that is recorded, prints a line for each violation, with --json an object, and exits 1', async () => {
  const text = { host: 'example.net', class: 'IN', type: 'TXT', entries: ['v=spf1 -all'] };
  const records = [addressRecord('www.example.net', '192.0.2.1'), text];
  const lines = [
    observationLine({ at: 1, records: ['192.0.2.1'], headers: { server: 'a' } }),
    observationLine({ domain: 'example.net', at: 1, records, headers: { via: 'b' } }),
  ];
  await said(['import', '-'], lines.join('\n'));
  const checked = 'in 2 domains, 3 DNS record entries, 2 header changes';
  expect(await said(['verify'])).toBe(`No violations ${checked}.\n`);
  await commands.database.pool.query(`
    UPDATE dns_record SET position = 1 WHERE domain = 'example.net' AND type = 'A';
    UPDATE header_change SET value = 'a ' WHERE domain = 'example.com';
    DELETE FROM known_name WHERE name = 'www.example.net';
    DELETE FROM known_text WHERE kind IN ('TXT', 'via');
    INSERT INTO header_change VALUES ('orphan.example', 'server', 1, 'x', null, null)`);
  const { code, stdout, stderr } = await dms(['verify']);
  expect([code, stderr]).toEqual([1, `dms: 8 violations ${checked}; each is a line above.\n`]);
  const found = stdout.trimEnd().split('\n');
  expect(found).toEqual([
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
  expect(await objects(['verify'])).toEqual(found.map((violation) => ({ violation })));
});
