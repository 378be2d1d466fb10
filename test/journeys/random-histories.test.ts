import fc from 'fast-check';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { exportDms } from '../../src/exporters/dms.js';
import { parseDmsLine } from '../../src/importers/dms.js';
import { formatInstant, type Instant } from '../../src/model/instant.js';
import { readHistories } from '../../src/recorder/read-histories.js';
import { createRecorder } from '../../src/recorder/recorder.js';
import { body, CHANGE_KINDS, changeItems } from '../replay/body.js';
import { type DomainHistory, HTTP, latestOf } from '../replay/domain-history.js';
import { bodies, replayLines } from '../replay/replay.js';
import { askGraphql } from '../support/ask.js';
import { databaseOfFile, TEST_SERVER } from '../support/database.js';
import { repeats } from '../support/long-form.js';
import { NOW } from '../support/observations.js';
import { allChanges, expectInstants, type Query, type TimedLine, timedLines } from './instants.js';
import { headerLine, type ObservationLine, observationLine, typeLine } from './random-observations.js';
import { answersOf, differences, type LocalServing, serveLocally } from './serving.js';

/** RANDOM_RUNS=5000 looks longer. */
const numRuns = Number(process.env['RANDOM_RUNS'] ?? repeats(30, 6));
vi.setConfig({ testTimeout: 60_000 + 2_000 * numRuns });
const database = databaseOfFile();
let serving: LocalServing;

beforeAll(async () => {
  serving = await serveLocally(database.environment);
});
afterAll(() => {
  vi.resetConfig();
  return serving.close();
});

/** Each run has domains of its own, so that nothing has to be erased between them. */
let run = 0;

function holds<Drawn>(drawn: fc.Arbitrary<Drawn>, check: (drawn: Drawn) => Promise<void>): Promise<void> {
  const property = fc.asyncProperty(drawn, (value) => {
    run += 1;
    return check(value);
  });
  return fc.assert(property, { numRuns });
}

function linesOf(observations: readonly ObservationLine[]): string[] {
  return observations.map((line) => JSON.stringify({ ...line, domain: `${line.domain}.r${run}.example` }));
}

/** Records lines by a recorder of their own in batches of the given sizes, the last with what is left. */
async function record(lines: readonly string[], sizes: readonly number[] = []): Promise<void> {
  const recorder = createRecorder(database.pool);
  const observations = lines.map((line) => parseDmsLine(line, NOW));
  let from = 0;
  for (const size of [...sizes, observations.length]) {
    await recorder.record(observations.slice(from, from + size));
    from += size;
  }
}

const replayed = (...lines: (readonly string[])[]) => bodies(replayLines(lines.flat()));

/** Compares Get domain with what is expected; a failure shows only the domains that differ. */
async function expectAnswers(expected: ReadonlyMap<string, string>): Promise<void> {
  expect(differences(expected, await answersOf(serving.url, expected.keys()))).toEqual([]);
}

const manyLines = <Line>(line: fc.Arbitrary<Line>) => fc.array(line, { minLength: 1, maxLength: 30 });
const batchSizes = fc.array(fc.integer({ min: 1, max: 10 }), { maxLength: 12 });
/** Of three domains in several spellings. */
const anyLines = manyLines(observationLine(['a', 'A', 'b', 'bücher', 'xn--bcher-kva', 'BÜCHER']));

test('any observations, recorded in any batches, and then a second time, give the histories that a plain replay of the rules gives, byte for byte', () =>
  holds(fc.tuple(anyLines, batchSizes, batchSizes), async ([given, ...recordings]) => {
    const lines = linesOf(given);
    for (const sizes of recordings) {
      await record(lines, sizes);
      await expectAnswers(replayed(lines));
    }
  }));

test(
  'at any instant, between any two, and by the changes between them, the answers are those of replays of the observations up to them',
  async () => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    const [domains, count] = [repeats(1_100, 20), repeats(TEST_SERVER === undefined ? 500 : 1_000, 30)];
    process.stderr.write(`seed ${seed}: ${domains} domains, ${count} pairs of instants\n`);
    const lines = new Map<string, TimedLine[]>();
    for (let domain = 0; domain < domains; domain += 1) {
      run += 1;
      const given = fc.sample(observationLine(['d']), { seed: seed + domain, numRuns: 12 });
      lines.set(`d.r${run}.example`, timedLines(linesOf(given)));
    }
    const all = [...lines.values()].flat().map(({ line }) => line);
    await record(all, Array(Math.floor(all.length / 200)).fill(200));
    await expectInstants(serving.url, lines, { seed, count });
  },
  10 * 60_000 + 20_000 * numRuns,
);

const changesQuestion = fc.record({
  first: fc.integer({ min: 1, max: 12 }),
  order: fc.constantFrom('OLDEST_FIRST', 'NEWEST_FIRST'),
  kinds: fc.subarray(CHANGE_KINDS, { minLength: 1 }),
  /** Places in a list of times; null: no limit. */
  ends: fc.tuple(fc.option(fc.nat()), fc.option(fc.nat())),
});

type ChangesQuestion = typeof changesQuestion extends fc.Arbitrary<infer Question> ? Question : never;

const isGiven = (pair: [string, string | null]): pair is [string, string] => pair[1] !== null;

function asQuery({ first, order, kinds, ends }: ChangesQuestion, times: readonly Instant[]) {
  const [from = null, to = null] = ends
    .map((place) => (place === null ? null : formatInstant(times[place % times.length] ?? 0n)))
    .sort((one, other) => (one === null || other === null ? 0 : one < other ? -1 : 1));
  const query: Query = Object.entries({ first: String(first), order, from, to }).filter(isGiven);
  query.push(...kinds.map((kind): [string, string] => ['kinds', kind]));
  const select = (items: readonly { kind: string; date: string }[]) => {
    const isIn = (date: string) => (from === null || date > from) && (to === null || date <= to);
    const selected = items.filter(({ kind, date }) => kinds.includes(kind) && isIn(date));
    return order === 'OLDEST_FIRST' ? selected : selected.reverse();
  };
  return { query, select };
}

test('the changes of any observations are those of a plain replay with when each thing was last seen, each once, on pages of any size in either order, of any kinds, in any interval', () => {
  const questions = fc.array(changesQuestion, { minLength: 1, maxLength: 4 });
  return holds(fc.tuple(anyLines, batchSizes, questions), async ([given, sizes, asked]) => {
    const lines = linesOf(given);
    await record(lines, sizes);
    const times = timedLines(linesOf(given)).map(({ time }) => time);
    for (const [domain, history] of replayLines(lines)) {
      if (history.created === undefined) continue;
      const items = changeItems(history);
      expect(await lastSightsOf(domain)).toEqual(lastSightsIn(history, items));
      for (const question of asked) {
        const { query, select } = asQuery(question, times);
        const found = await allChanges(serving.url, `domain/${domain}/changes`, query);
        expect(new Set(found.map(({ id }) => id)).size).toBe(found.length);
        expect(found.map(({ id: _id, rdata: _rdata, ...item }) => item)).toEqual(select(items));
      }
    }
  });
});

/** How many changes a domain has, and when its records and headers were last seen: of what is present, by type. */
async function lastSightsOf(domain: string): Promise<object> {
  const query = `{ domain(name: "${domain}") { changeCount
    dnsRecords { ... on DnsRecordEntry { type removed lastSeen } } httpHeaders { name present lastSeen } } }`;
  const { data } = await askGraphql(serving, query);
  const records: { type: string; removed: string | null; lastSeen: string }[] = data.domain.dnsRecords;
  const sights = (isPresent: boolean) =>
    records.flatMap(({ type, removed, lastSeen }) =>
      (removed === null) === isPresent ? [[type, lastSeen]] : [],
    );
  const headers = data.domain.httpHeaders.map(Object.values);
  return { changes: data.domain.changeCount, present: sights(true), removed: sights(false).sort(), headers };
}

function lastSightsIn(history: DomainHistory, items: { kind: string; name?: string; lastSeen?: string }[]) {
  return {
    changes: items.filter(({ kind }) => kind !== 'SITE_STATUS_CHANGED').length,
    present: JSON.parse(body(history))
      .dnsRecords.filter(({ removed }: { removed: string | null }) => removed === null)
      .map(({ data }: { data: { type: string } }) => [data.type, latestOf(history, data.type)]),
    removed: history.changes
      .flatMap(({ entry, lastSeen }) => (lastSeen && entry ? [[entry.data['type'], lastSeen]] : []))
      .sort(),
    headers: [...history.headers.keys()].sort().map((name) => {
      const isPresent = history.present.has(name);
      const gone = items.findLast((item) => item.kind === 'HEADER_GONE' && item.name === name);
      return [name, isPresent, isPresent ? latestOf(history, HTTP) : gone?.lastSeen];
    }),
  };
}

async function everythingOf(domain: string): Promise<object> {
  const query = `{ domain(name: "${domain}") { created lastUpdate lastChange dnsRecordCount httpHeaderCount changeCount
    parts { name firstObserved lastObserved }
    dnsRecords { ... on DnsRecordEntry { host type data firstSeen removed lastSeen } }
    httpHeaders { name present lastSeen history { event date new old } } } }`;
  const changes = await allChanges(serving.url, `domain/${domain}/changes`, [['first', '100']]);
  const { data, errors } = await askGraphql(serving, query);
  expect(errors).toBeUndefined();
  return { ...data.domain, changes: changes.map(({ id: _, ...change }) => change) };
}

test('what is exported, and imported where nothing is recorded, is answered alike: records, headers, changes, times of parts and when each thing was last seen, and so is what comes later', () => {
  const lines = manyLines(observationLine(['a']));
  return holds(fc.tuple(lines, lines, batchSizes), async ([given, later, sizes]) => {
    await record(linesOf(given), sizes);
    const [name, copy] = [`a.r${run}.example`, `copy.r${run}.example`];
    const copied = (line: string) => line.replace(`"domain":"${name}"`, `"domain":"${copy}"`);
    for await (const history of readHistories(database.pool, [name])) {
      await record(Array.from(exportDms(history), copied));
    }
    expect(await everythingOf(copy)).toEqual(await everythingOf(name));
    for (const older of [false, true]) {
      const more = linesOf(later).map((line) => parseDmsLine(line, NOW));
      const elsewhere = more.map((observation) => ({ ...observation, domain: copy }));
      const recorder = createRecorder(database.pool);
      const { outcomes } = await recorder.record(more, older);
      expect((await recorder.record(elsewhere, older)).outcomes).toEqual(outcomes);
      expect(await everythingOf(copy)).toEqual(await everythingOf(name));
    }
  });
});

test.each([
  ['different domains', observationLine(['a']), observationLine(['b'])],
  ['different parts of one domain', typeLine('a', 'A'), fc.oneof(headerLine('a'), typeLine('a', 'TXT'))],
])('two writers at the same time of %s end in the state that both give', (_what, one, other) =>
  holds(
    fc.tuple(manyLines(one), manyLines(other), batchSizes, batchSizes),
    async ([left, right, ...sizes]) => {
      const [leftLines, rightLines] = [linesOf(left), linesOf(right)];
      await Promise.all([record(leftLines, sizes[0]), record(rightLines, sizes[1])]);
      await expectAnswers(replayed(leftLines, rightLines));
    },
  ),
);

test('two writers at the same time of one domain end in the state that one of their two orders gives', () => {
  const lines = manyLines(observationLine(['a', 'b']));
  return holds(fc.tuple(lines, lines), async ([one, other]) => {
    const [left, right] = [linesOf(one), linesOf(other)];
    await Promise.all([record(left), record(right)]);
    const [leftFirst, rightFirst] = [replayed(left, right), replayed(right, left)];
    for (const [domain, answer] of await answersOf(serving.url, leftFirst.keys())) {
      expect([leftFirst.get(domain), rightFirst.get(domain)]).toContain(answer);
    }
  });
});
