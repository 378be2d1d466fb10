import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { exportDms } from '../../src/exporters/dms.js';
import type { StoredHistory } from '../../src/history/stored-history.js';
import { parseDmsLine } from '../../src/importers/dms.js';
import { type DnsRecord, parseDnsRecord, recordsByType } from '../../src/model/dns-record.js';
import { parseInstant } from '../../src/model/instant.js';
import type { Observation } from '../../src/model/observation.js';
import { canonicalizeStored } from '../../src/recorder/canonicalize-stored.js';
import { readHistories, readStoredRows } from '../../src/recorder/read-histories.js';
import { createRecorder, type Recorder } from '../../src/recorder/recorder.js';
import { findStoredViolations } from '../../src/recorder/stored-violations.js';
import { emptyTestDatabase, openTestDatabase, type TestDatabase } from '../support/database.js';
import { NOW, timeText } from '../support/observations.js';

const KEY = 'AwEAaagA';
const TYPED = ['A', 'CAA', 'DNSKEY', 'TYPE257'];

let database: TestDatabase;
let recorder: Recorder;

beforeAll(async () => {
  database = await openTestDatabase();
  recorder = createRecorder(database.pool);
});
beforeEach(() => emptyTestDatabase(database));
afterAll(() => database.close());

/** A record as it was stored, in whatever text. */
function stored(type: string, rdata: Readonly<Record<string, unknown>>, host = 'example.com'): DnsRecord {
  return { host, class: 'IN', type, rdata: JSON.stringify(rdata) };
}

function look(at: number, records: readonly DnsRecord[], types?: readonly string[]): Observation {
  const byType = recordsByType(records);
  return {
    domain: 'example.com',
    observedAt: parseInstant(timeText(at)),
    dns: types === undefined ? { records: byType } : { types: new Set(types), records: byType },
    source: `look ${at}`,
  };
}

async function only(): Promise<StoredHistory> {
  for await (const history of readHistories(database.pool)) return history;
  throw new Error('Nothing is recorded.');
}

/** The whole history, without what grows with each writing. */
async function told(): Promise<unknown> {
  const { version: _version, recordedAt: _recordedAt, keptTimes: _kept, state, ...rest } = await only();
  return {
    ...rest,
    state: { ...state, types: new Map([...state.types].sort(([a], [b]) => (a < b ? -1 : 1))) },
  };
}

function exported(history: StoredHistory): { readonly lines: readonly string[]; readonly leftOut: number } {
  let leftOut = 0;
  const omit = () => {
    leftOut += 1;
  };
  return { lines: [...exportDms(history, undefined, omit)], leftOut };
}

async function violations(): Promise<string[]> {
  const found: string[] = [];
  for await (const rows of readStoredRows(database.pool)) found.push(...findStoredViolations(rows));
  return found;
}

const canonical = (record: DnsRecord) =>
  parseDnsRecord({ host: record.host, class: record.class, type: record.type, ...JSON.parse(record.rdata) });

describe('what earlier versions stored', () => {
  test('a record that was imported, observed and imported again, in two spellings, was never gone', async () => {
    const imported = [stored('DNSKEY', { data: '257 3 8 AwEA aagA' }), stored('A', { ip: '192.0.2.1' })];
    const observed = [stored('DNSKEY', { data: `257 3 8 ${KEY}` }), stored('A', { ip: '192.0.2.1' })];
    await recorder.record([
      look(1, imported),
      look(2, observed, TYPED),
      look(3, imported),
      look(4, imported),
    ]);
    const before = await only();
    expect(before.stays).toHaveLength(4);
    expect((await violations()).length).toBeGreaterThan(0);

    expect(await canonicalizeStored(database.pool)).toBe(
      'The records of 1 domains were rewritten in their canonical text.',
    );
    const after = await only();
    expect(
      after.stays.map(({ record, firstSeen, removal, source }) => [record.type, firstSeen, removal, source]),
    ).toEqual([
      ['A', parseInstant(timeText(1)), null, 'look 1'],
      ['DNSKEY', parseInstant(timeText(1)), null, 'look 1'],
    ]);
    expect(after.state.lastChange).toBe(parseInstant(timeText(1)));
    expect(after.version).toBeGreaterThan(before.version);
    expect(after.recordedAt).toBeGreaterThan(before.recordedAt);
    expect(await violations()).toEqual([]);

    expect(await canonicalizeStored(database.pool)).toBeNull();
    expect(await only()).toEqual(after);
  });

  test('records of a type that was stored as text go on when it gets fields of its own', async () => {
    const asText = stored('MX', { data: '10 mail.example.com.' });
    const withFields = canonical(stored('MX', { pri: 10, target: 'mail.example.com' }));
    const gone = stored('MX', { data: '20 old.example.com.' });
    await recorder.record([look(1, [asText, gone], ['MX']), look(2, [asText], ['MX'])]);
    await canonicalizeStored(database.pool);
    await recorder.record([look(3, [withFields], ['MX'])]);
    const { stays, state } = await only();
    expect(
      stays.map(({ record, firstSeen, removal }) => [record.rdata, firstSeen, removal?.removed]),
    ).toEqual([
      ['{"pri":10,"target":"mail.example.com"}', parseInstant(timeText(1)), undefined],
      ['{"pri":20,"target":"old.example.com"}', parseInstant(timeText(1)), parseInstant(timeText(2))],
    ]);
    expect(state.lastChange).toBe(parseInstant(timeText(2)));
    expect(await violations()).toEqual([]);
  });

  test('text that is no rdata of a type that gets fields stays, is told, and is left out of exports', async () => {
    await recorder.record([look(1, [stored('MX', { data: String.raw`\# 1 00` })], ['MX'])]);
    expect(await canonicalizeStored(database.pool)).toContain(
      '1 records have data that is not valid for their type',
    );
    const history = await only();
    expect(history.stays.map(({ record }) => record.rdata)).toEqual(['{"data":"\\\\# 1 00"}']);
    expect(exported(history).leftOut).toBe(1);
    expect(await violations()).not.toEqual([]);
  });

  test('a type by its number is one part with the type that has a name', async () => {
    const numbered = stored('TYPE257', { data: String.raw`\# 8 0005697373756561` });
    const named = stored('CAA', { flags: 0, tag: 'issue', value: 'a' });
    const other = stored('CAA', { flags: 0, tag: 'iodef', value: 'b' });
    await recorder.record([
      look(1, [numbered], ['TYPE257']),
      look(2, [named, other], ['CAA']),
      look(3, [], ['TYPE257']),
      look(4, [named], ['CAA']),
    ]);
    await canonicalizeStored(database.pool);
    const { state, stays } = await only();
    expect([...state.types]).toEqual([
      [
        'CAA',
        {
          digest: expect.any(String),
          named: { first: parseInstant(timeText(1)), latest: parseInstant(timeText(4)) },
        },
      ],
    ]);
    expect(stays.map(({ record, position, removal }) => [record, position, removal?.lastSeen])).toEqual([
      [named, 0, undefined],
      [other, 0, parseInstant(timeText(3))],
    ]);
    expect(await violations()).toEqual([]);
  });

  test('invalid data stays, is counted, listed by verify, and left out by export', async () => {
    const garbage = stored('DS', { data: 'total garbage' });
    const unknown = stored('NOSUCH', { data: 'x' });
    const sound = stored('DS', { data: '1 RSASHA1 9 ab cd' });
    await recorder.record([look(1, [garbage, unknown, sound])]);
    expect(await canonicalizeStored(database.pool)).toBe(
      'The records of 1 domains were rewritten in their canonical text. ' +
        '2 records have data that is not valid for their type, and remain unchanged: dms verify lists them.',
    );
    const history = await only();
    expect(history.stays.map(({ record }) => record)).toEqual([canonical(sound), garbage, unknown]);
    expect((await violations()).join('\n')).toMatch(/total garbage.*is not in canonical form/);
    const { leftOut, lines } = exported(history);
    expect(leftOut).toBe(2);
    const [line = ''] = lines;
    expect(parseDmsLine(line, NOW).dns?.records.get('DS')).toEqual([canonical(sound)]);
  });

  test('a domain without such types is not touched', async () => {
    await recorder.record([look(1, [stored('A', { ip: '192.0.2.1' })])]);
    const before = await only();
    expect(await canonicalizeStored(database.pool)).toBeNull();
    expect(await only()).toEqual(before);
  });

  const numbered = (at: number, domain: number, data: string): Observation => {
    const name = `d${domain}.example`;
    return { ...look(at, [stored('DNSKEY', { data }, name)]), domain: name };
  };
  const domains = Array.from({ length: 250 }, (_, domain) => domain);
  const rewritten = async (): Promise<number> => {
    const { rows } = await database.pool.query<{ n: number }>(
      'SELECT count(*)::int AS n FROM dns_record WHERE rdata::text LIKE $1',
      [`%${KEY}%`],
    );
    return rows[0]?.n ?? 0;
  };

  test('a run that ends in the middle leaves whole domains, and continues when it is run again', async () => {
    await recorder.record(domains.map((domain) => numbered(1, domain, '257 3 8 AwEA aagA')));
    await database.pool.query(
      "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'the end'; END $$",
    );
    await database.pool.query(
      `CREATE TRIGGER ending BEFORE DELETE ON dns_record FOR EACH ROW
         WHEN (OLD.domain = 'd240.example') EXECUTE FUNCTION fail()`,
    );
    await expect(canonicalizeStored(database.pool)).rejects.toThrow('the end');
    await database.pool.query('DROP TRIGGER ending ON dns_record');
    await database.pool.query('DROP FUNCTION fail()');
    expect(await rewritten()).toBe(100);
    expect(await canonicalizeStored(database.pool)).toBe(
      'The records of 150 domains were rewritten in their canonical text.',
    );
    expect(await rewritten()).toBe(250);
    expect(await violations()).toEqual([]);
  });

  test('many domains are rewritten beside a writer, twice at once', async () => {
    await recorder.record(domains.map((domain) => numbered(1, domain, '257 3 8 AwEA aagA')));
    const writing = domains.filter((domain) => domain % 5 === 0);
    await Promise.all([
      canonicalizeStored(database.pool),
      canonicalizeStored(database.pool),
      ...[2, 3, 4].map((at) =>
        recorder.record(writing.map((domain) => numbered(at, domain, `257 3 8 ${KEY}`))),
      ),
    ]);
    await canonicalizeStored(database.pool);
    expect(await violations()).toEqual([]);
    const { rows } = await database.pool.query<{ stays: bigint; removed: bigint }>(
      'SELECT count(*) AS stays, count(removed) AS removed FROM dns_record',
    );
    expect(rows).toEqual([{ stays: 250n, removed: 0n }]);
  });
});

describe('sizes that are not those of the rows', () => {
  const domains = Array.from({ length: 120 }, (_, domain) => `d${domain}.example`);
  const addresses = (at: number): Observation[] =>
    domains.map((domain) => ({
      ...look(at, [stored('A', { ip: `192.0.2.${at}` }, domain)]),
      domain,
      httpHeaders: new Map([['server', `s${at}`]]),
    }));

  test('are computed beside writers, twice at once', async () => {
    await recorder.record(addresses(1));
    await database.pool.query('UPDATE domain SET record_octets = 0, header_octets = 0');
    await Promise.all([
      (async () => {
        for (const at of [2, 3, 4, 5]) await recorder.record(addresses(at));
      })(),
      canonicalizeStored(database.pool),
      canonicalizeStored(database.pool),
    ]);
    expect(await violations()).toEqual([]);
  });

  test('are not written over what a writer has added after they were computed', async () => {
    await recorder.record(addresses(1));
    await database.pool.query('UPDATE domain SET record_octets = 0, header_octets = 0');
    let recording: Promise<unknown> | undefined;
    const pool = new Proxy(database.pool, {
      get: (target, key) =>
        key !== 'query'
          ? Reflect.get(target, key)
          : async (text: string, values: unknown[]) => {
              if (text.startsWith('UPDATE')) {
                recording ??= recorder.record(addresses(2));
                await recording;
              }
              return target.query(text, values);
            },
    });
    await canonicalizeStored(pool);
    expect(recording).toBeDefined();
    expect(await violations()).toEqual([]);
  });

  test('cost no answer its validity', async () => {
    await recorder.record(addresses(1));
    await database.pool.query('UPDATE domain SET header_octets = header_octets + 1');
    const versions = () => database.pool.query('SELECT name, version, recorded_at FROM domain ORDER BY name');
    const before = (await versions()).rows;
    await canonicalizeStored(database.pool);
    expect((await versions()).rows).toEqual(before);
    expect(await violations()).toEqual([]);
  });
});

test('rewritten histories are those that the canonical texts would have made', async () => {
  const spellings: readonly (readonly string[])[] = [
    ['257 3 8 AwEA aagA', `257 3 8 ${KEY}`, `257 3 RSASHA256 ${KEY}`],
    ['256 3 8 AAAA', '256 3 8 AA AA'],
    ['256 3 13 BBBB'],
  ];
  const record = fc.constantFrom(...spellings.flat()).map((data) => stored('DNSKEY', { data }));
  const looks = fc.array(
    fc.tuple(fc.uniqueArray(record, { maxLength: 3, selector: ({ rdata }) => rdata }), fc.boolean()),
    { minLength: 1, maxLength: 6 },
  );
  await fc.assert(
    fc.asyncProperty(looks, async (story) => {
      const observations = (read: (record: DnsRecord) => DnsRecord) =>
        story.map(([records, byName], at) =>
          look(at + 1, records.map(read), byName ? ['DNSKEY'] : undefined),
        );
      await emptyTestDatabase(database);
      await recorder.record(observations(canonical));
      const expected = await told();
      await emptyTestDatabase(database);
      await recorder.record(observations((stayed) => stayed));
      await canonicalizeStored(database.pool);
      expect(await told()).toEqual(expected);
      expect(await violations()).toEqual([]);
    }),
    { numRuns: 40 },
  );
});
