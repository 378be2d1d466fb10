import fc from 'fast-check';
import { expect, test } from 'vitest';
import { attempt } from '../../src/model/attempt.js';
import { canonicalIp } from '../../src/model/ip-address.js';
import { databaseOfFile } from '../support/database.js';

const database = databaseOfFile();

const ADDRESS = fc.oneof(
  fc.ipV4(),
  fc.ipV6().map(canonicalIp),
  fc.ipV4().map((ipv4) => `::ffff:${ipv4}`),
);
const SIMILAR = fc.stringMatching(/^(?:(?:0|ffff|255|256|[0-9a-f]{1,5})?(?:[:.]|::)?){0,9}$/);
const ALTERED = fc
  .tuple(ADDRESS, fc.nat(), fc.constantFrom('', '0', '9', ':', '.', 'f', 'g', '/8', ' '))
  .map(([text, at, by]) => {
    const place = at % (text.length + 1);
    return text.slice(0, place) + by + text.slice(place + (at % 2));
  });

test('an index has the address of every record that has one, and fails at no other text', async () => {
  const text = fc.oneof(ADDRESS, SIMILAR, ALTERED, fc.string());
  const texts = fc.array(text, { minLength: 500, maxLength: 500 });
  await fc.assert(
    fc.asyncProperty(texts, async (all) => {
      const stored = all.filter((text) => !text.includes('\0'));
      const { rows } = await database.pool.query<{ text: string; address: string | null }>(
        `SELECT text, address_of(json_build_object(CASE WHEN text LIKE '%:%' THEN 'ipv6' ELSE 'ip' END, text))::text AS address
           FROM unnest($1::text[]) AS text`,
        [stored],
      );
      const found = rows.filter(({ address }) => address !== null).map(({ text }) => text);
      const canonical = stored.filter((text) => attempt(() => canonicalIp(text)) === text);
      expect(canonical.filter((text) => !found.includes(text))).toEqual([]);
      const { rows: equal } = await database.pool.query(
        `SELECT text FROM unnest($1::text[]) AS text WHERE address_of(json_build_object('ip', text)) = text::inet`,
        [found],
      );
      expect(equal).toHaveLength(found.length);
    }),
    { numRuns: 10 },
  );
});
