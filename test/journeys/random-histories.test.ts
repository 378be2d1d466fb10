import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exportDms } from '../../src/exporters/dms.js';
import { parseDmsLine } from '../../src/importers/dms.js';
import { compareInstants, formatInstant, type Instant, parseInstant } from '../../src/model/instant.js';
import { readHistories } from '../../src/recorder/read-histories.js';
import { createRecorder } from '../../src/recorder/recorder.js';
import { body, changeItems, diffBody } from '../replay/body.js';
import { type DomainHistory, HTTP, latestOf } from '../replay/domain-history.js';
import { bodies, replayLines } from '../replay/replay.js';
import { openTestDatabase, TEST_SERVER, type TestDatabase } from '../support/database.js';
import { IS_LONG, repeats } from '../support/long-form.js';
import {
  allChanges,
  apply,
  expectInstants,
  type Query,
  replayedUpTo,
  stateOf,
  type TimedLine,
} from './instants.js';
import { headerLine, type ObservationLine, observationLine, typeLine } from './random-observations.js';
import { answersOf, differences, type LocalServing, serveLocally } from './serving.js';

const NOW = parseInstant('2026-01-01T00:00:00Z');

/** RANDOM_RUNS=5000 looks longer. */
const numRuns = Number(process.env['RANDOM_RUNS'] ?? repeats(30, 6));

const TIMEOUT = 60_000 + 200 * numRuns;

/** Spellings that mean three domains. */
const SPELLINGS = ['a', 'A', 'b', 'bücher', 'xn--bcher-kva', 'BÜCHER'];

let database: TestDatabase;
let serving: LocalServing;

beforeAll(async () => {
  database = await openTestDatabase();
  serving = await serveLocally(database.environment);
});

afterAll(async () => {
  await serving.close();
  await database.close();
});

/** Each run has domains of its own, so that nothing has to be erased between them. */
let run = 0;

function linesOf(observations: readonly ObservationLine[]): string[] {
  return observations.map((line) => JSON.stringify({ ...line, domain: `${line.domain}.r${run}.example` }));
}

/** The lines in the order of their times. */
function timedLinesOf(observations: readonly ObservationLine[]): TimedLine[] {
  return linesOf(observations)
    .map((line) => ({ line, time: parseDmsLine(line, NOW).observedAt }))
    .sort((one, other) => compareInstants(one.time, other.time));
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

/** What a plain replay of the rules gives for lines in this order. */
function replayed(...lines: (readonly string[])[]): Map<string, string> {
  return bodies(replayLines(lines.flat()));
}

/** Compares Get domain with what is expected; a failure shows only the domains that differ. */
async function expectAnswers(expected: ReadonlyMap<string, string>): Promise<void> {
  expect(differences(expected, await answersOf(serving.url, expected.keys()))).toEqual([]);
}

const manyLines = <Line>(line: fc.Arbitrary<Line>) => fc.array(line, { minLength: 1, maxLength: 30 });
const batchSizes = fc.array(fc.integer({ min: 1, max: 10 }), { maxLength: 12 });

describe('any observations, recorded in any batches', () => {
  it(
    'give the histories that a plain replay of the rules gives, byte for byte',
    async () => {
      const property = fc.asyncProperty(
        manyLines(observationLine(SPELLINGS)),
        batchSizes,
        async (given, sizes) => {
          run += 1;
          const lines = linesOf(given);
          await record(lines, sizes);
          await expectAnswers(replayed(lines));
        },
      );
      await fc.assert(property, { numRuns });
    },
    TIMEOUT,
  );

  it(
    'change nothing when they are recorded a second time',
    async () => {
      const property = fc.asyncProperty(
        manyLines(observationLine(SPELLINGS)),
        batchSizes,
        async (given, sizes) => {
          run += 1;
          const lines = linesOf(given);
          await record(lines);
          await record(lines, sizes);
          await expectAnswers(replayed(lines));
        },
      );
      await fc.assert(property, { numRuns });
    },
    TIMEOUT,
  );
});

describe('at any instant', () => {
  it(
    'the answer is that of the observations up to it, byte for byte but for lastUpdate, which is the time of one of them',
    async () => {
      const instants = fc.array(fc.record({ place: fc.nat(), beside: fc.constantFrom(-1n, 0n, 1n) }), {
        minLength: 1,
        maxLength: 4,
      });
      const property = fc.asyncProperty(
        manyLines(observationLine(SPELLINGS)),
        batchSizes,
        instants,
        async (given, sizes, chosen) => {
          run += 1;
          const timed = timedLinesOf(given);
          await record(
            timed.map(({ line }) => line),
            sizes,
          );
          const domains = [...replayed(timed.map(({ line }) => line)).keys()];
          for (const { place, beside } of chosen) {
            const at = (timed[place % timed.length]?.time ?? 0n) + beside;
            const before = timed.filter(({ time }) => time <= at);
            const expected = replayed(before.map(({ line }) => line));
            const found = await answersOf(serving.url, domains, `?at=${formatInstant(at)}`);
            const recorded = [...found].filter(([, body]) => !body.includes('DOMAIN_NOT_FOUND'));
            const times = new Set(before.map(({ time }) => `"lastUpdate":"${formatInstant(time)}"`));
            for (const [, body] of recorded) expect(times).toContain(LAST_UPDATE.exec(body)?.[0]);
            const same = (bodies: Iterable<readonly [string, string]>) =>
              new Map([...bodies].map(([domain, body]) => [domain, body.replace(LAST_UPDATE, '')]));
            expect(differences(same(expected), same(recorded))).toEqual([]);
          }
        },
      );
      await fc.assert(property, { numRuns });
    },
    TIMEOUT,
  );
});

describe('between any two instants', () => {
  it(
    'the difference is that of the states that the observations up to them give, byte for byte',
    async () => {
      const instant = fc.record({ place: fc.nat(), beside: fc.constantFrom(-1n, 0n, 1n) });
      const property = fc.asyncProperty(
        manyLines(observationLine(SPELLINGS)),
        fc.array(fc.tuple(instant, instant), { minLength: 1, maxLength: 4 }),
        async (given, pairs) => {
          run += 1;
          const timed = timedLinesOf(given);
          await record(timed.map(({ line }) => line));
          const domains = [...replayed(timed.map(({ line }) => line)).keys()];
          for (const pair of pairs) {
            const [from = 0n, to = 0n] = pair
              .map(({ place, beside }) => (timed[place % timed.length]?.time ?? 0n) + beside)
              .sort(compareInstants);
            const [before, after] = [replayedUpTo(timed, from), replayedUpTo(timed, to)];
            const times = { from: formatInstant(from), to: formatInstant(to) };
            const expected = new Map(
              domains.map((domain) => [
                domain,
                diffBody(before.get(domain), after.get(domain), { domain, ...times }),
              ]),
            );
            const found = await answersOf(serving.url, domains, `/diff?from=${times.from}&to=${times.to}`);
            expect(differences(expected, found)).toEqual([]);
          }
        },
      );
      await fc.assert(property, { numRuns });
    },
    TIMEOUT,
  );
});

describe('the changes of any observations', () => {
  it(
    'are those of a plain replay with when each thing was last seen, each once, on pages of any size in either order, of any kinds, in any interval',
    async () => {
      const questions = fc.array(
        fc.record({
          first: fc.integer({ min: 1, max: 12 }),
          order: fc.constantFrom('OLDEST_FIRST', 'NEWEST_FIRST'),
          kinds: fc.subarray(CHANGE_KINDS, { minLength: 1 }),
          ends: fc.tuple(fc.option(fc.nat()), fc.option(fc.nat())),
        }),
        { minLength: 1, maxLength: 4 },
      );
      const property = fc.asyncProperty(
        manyLines(observationLine(SPELLINGS)),
        batchSizes,
        questions,
        async (given, sizes, asked) => {
          run += 1;
          const lines = linesOf(given);
          await record(lines, sizes);
          const times = timedLinesOf(given).map(({ time }) => time);
          for (const [domain, history] of replayLines(lines).histories) {
            if (history.created === undefined) continue;
            const items = changeItems(history);
            expect(await lastSightsOf(domain)).toEqual(lastSightsIn(history, items.length));
            for (const question of asked) {
              const { query, select } = changesQuestion(question, times);
              const found = await allChanges(serving.url, domain, query);
              expect(new Set(found.map(({ id }) => id)).size).toBe(found.length);
              expect(found.map(({ id: _id, rdata: _rdata, ...item }) => item)).toEqual(select(items));
            }
          }
        },
      );
      await fc.assert(property, { numRuns });
    },
    TIMEOUT,
  );
});

describe('the changes between any two instants', () => {
  it(
    'make the state at the later one of the state at the earlier one',
    async () => {
      const place = fc.nat();
      const property = fc.asyncProperty(
        manyLines(observationLine(SPELLINGS)),
        fc.array(fc.tuple(place, place), { minLength: 1, maxLength: 3 }),
        async (given, pairs) => {
          run += 1;
          const timed = timedLinesOf(given);
          await record(timed.map(({ line }) => line));
          for (const pair of pairs) {
            const [from = 0n, to = 0n] = pair
              .map((each) => timed[each % timed.length]?.time ?? 0n)
              .sort(compareInstants);
            const before = replayedUpTo(timed, from);
            const interval = { from: [formatInstant(from)], to: [formatInstant(to)], first: ['7'] };
            for (const [domain, after] of replayedUpTo(timed, to)) {
              const state = stateOf(before.get(domain));
              for (const change of await allChanges(serving.url, domain, interval)) apply(state, change);
              expect(state).toEqual(stateOf(after));
            }
          }
        },
      );
      await fc.assert(property, { numRuns });
    },
    TIMEOUT,
  );
});

const CHANGE_KINDS = [
  'DNS_RECORD_ADDED',
  'DNS_RECORD_REMOVED',
  ...['HEADER_CREATED', 'HEADER_UPDATED', 'HEADER_GONE', 'HEADER_RETURNED'],
];

interface ChangesQuestion {
  readonly first: number;
  readonly order: string;
  readonly kinds: readonly string[];
  /** Places in a list of times; null: no limit. */
  readonly ends: readonly (number | null)[];
}

/** The query of a question for changes, and what of all changes it is about. */
function changesQuestion({ first, order, kinds, ends }: ChangesQuestion, times: readonly Instant[]) {
  const [from = null, to = null] = ends
    .map((place) => (place === null ? null : formatInstant(times[place % times.length] ?? 0n)))
    .sort((one, other) => (one === null || other === null ? 0 : one < other ? -1 : 1));
  const query: Query = {
    ...{ first: [String(first)], order: [order], kinds },
    ...(from !== null && { from: [from] }),
    ...(to !== null && { to: [to] }),
  };
  const select = (items: readonly { kind: string; date: string }[]) => {
    const selected = items.filter(
      ({ kind, date }) =>
        kinds.includes(kind) && (from === null || date > from) && (to === null || date <= to),
    );
    return order === 'OLDEST_FIRST' ? selected : selected.reverse();
  };
  return { query, select };
}

/** How many changes a domain has, and when its records and headers were last seen: of what is present, by type. */
async function lastSightsOf(domain: string): Promise<object> {
  const query = `{ domain(name: "${domain}") { changeCount
    dnsRecords { ... on DnsRecordEntry { type removed lastSeen } } httpHeaders { name present lastSeen } } }`;
  const answer = await fetch(`${serving.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  });
  const { data } = JSON.parse(await answer.text());
  const records: { type: string; removed: string | null; lastSeen: string }[] = data.domain.dnsRecords;
  const headers: { name: string; present: boolean; lastSeen: string }[] = data.domain.httpHeaders;
  return {
    changes: data.domain.changeCount,
    present: records.flatMap(({ type, removed, lastSeen }) => (removed === null ? [[type, lastSeen]] : [])),
    removed: records
      .flatMap(({ type, removed, lastSeen }) => (removed === null ? [] : [[type, lastSeen]]))
      .sort(),
    headers: headers.map(({ name, present, lastSeen }) => [name, present, lastSeen]),
  };
}

/** All that is told of a domain but its name. */
async function everythingOf(domain: string): Promise<object> {
  const query = `{ domain(name: "${domain}") { created lastUpdate lastChange dnsRecordCount httpHeaderCount changeCount
    parts { name firstObserved lastObserved }
    dnsRecords { ... on DnsRecordEntry { host type data firstSeen removed lastSeen } }
    httpHeaders { name present lastSeen history { event date new old } } } }`;
  const answer = await fetch(`${serving.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  });
  const changes = await allChanges(serving.url, domain, { first: ['100'] });
  const { data, errors } = JSON.parse(await answer.text());
  expect(errors).toBeUndefined();
  return { ...data.domain, changes: changes.map(({ id: _, ...change }) => change) };
}

/** The same of a replay. */
function lastSightsIn(history: DomainHistory, changes: number): object {
  const items: { kind: string; name?: string; lastSeen?: string }[] = changeItems(history);
  const names = [...history.headers.keys()].sort();
  return {
    changes,
    present: JSON.parse(body(history))
      .dnsRecords.filter(({ removed }: { removed: string | null }) => removed === null)
      .map(({ data }: { data: { type: string } }) => [data.type, latestOf(history, data.type)]),
    removed: history.changes
      .flatMap(({ entry, lastSeen }) =>
        lastSeen === undefined || !entry ? [] : [[entry.data['type'], lastSeen]],
      )
      .sort(),
    headers: names.map((name) => {
      const isPresent = history.present.has(name);
      const gone = items.findLast((item) => item.kind === 'HEADER_GONE' && item.name === name);
      return [name, isPresent, isPresent ? latestOf(history, HTTP) : gone?.lastSeen];
    }),
  };
}

const LAST_UPDATE = /"lastUpdate":"[^"]+"/;

/** Of the short form: the properties above. */
describe.skipIf(!IS_LONG)(
  'of a thousand domains with headers, partial observations, absences and returns',
  () => {
    it(
      'any instant, the difference of any two, and the changes between them are those of replays up to them',
      async () => {
        const seed = Math.floor(Math.random() * 2 ** 31);
        const [domains, count] = [1_100, TEST_SERVER === undefined ? 500 : 1_000];
        process.stderr.write(`seed ${seed}: ${domains} domains, ${count} pairs of instants\n`);
        const lines = new Map<string, TimedLine[]>();
        for (let domain = 0; domain < domains; domain += 1) {
          run += 1;
          const given = fc.sample(observationLine(['d']), { seed: seed + domain, numRuns: 12 });
          lines.set(`d.r${run}.example`, timedLinesOf(given));
        }
        const all = [...lines.values()].flat().map(({ line }) => line);
        await record(
          all,
          Array.from({ length: all.length / 200 }, () => 200),
        );
        await expectInstants(serving.url, lines, { seed, count });
      },
      10 * TIMEOUT,
    );
  },
);

describe('what is exported, and imported where nothing is recorded', () => {
  it(
    'is answered alike: records, headers, changes, times of parts and when each thing was last seen, and so is what comes later',
    async () => {
      const lines = manyLines(observationLine(['a']));
      const property = fc.asyncProperty(lines, lines, batchSizes, async (given, later, sizes) => {
        run += 1;
        await record(linesOf(given), sizes);
        const [name, copy] = [`a.r${run}.example`, `copy.r${run}.example`];
        const copied = (line: string) => line.replace(`"domain":"${name}"`, `"domain":"${copy}"`);
        for await (const history of readHistories(database.pool, [name])) {
          await record(Array.from(exportDms(history), copied));
        }
        expect(await everythingOf(copy)).toEqual(await everythingOf(name));
        for (const older of [false, true]) {
          const more = linesOf(later).map((line) => parseDmsLine(line, NOW));
          const recorder = createRecorder(database.pool);
          const { outcomes } = await recorder.record(more, older);
          const elsewhere = await recorder.record(
            more.map((observation) => ({ ...observation, domain: copy })),
            older,
          );
          expect(elsewhere.outcomes).toEqual(outcomes);
          expect(await everythingOf(copy)).toEqual(await everythingOf(name));
        }
      });
      await fc.assert(property, { numRuns });
    },
    TIMEOUT,
  );
});

describe('two writers at the same time', () => {
  it(
    'of different domains each end in the state that they give alone',
    async () => {
      const writer = (domain: string) => fc.tuple(manyLines(observationLine([domain])), batchSizes);
      const property = fc.asyncProperty(
        writer('a'),
        writer('b'),
        async ([one, oneSizes], [other, otherSizes]) => {
          run += 1;
          const [left, right] = [linesOf(one), linesOf(other)];
          await Promise.all([record(left, oneSizes), record(right, otherSizes)]);
          await expectAnswers(replayed(left, right));
        },
      );
      await fc.assert(property, { numRuns });
    },
    TIMEOUT,
  );

  it(
    'of different parts of one domain end in the state that both give',
    async () => {
      const writer = (line: fc.Arbitrary<ObservationLine>) => fc.tuple(manyLines(line), batchSizes);
      const property = fc.asyncProperty(
        writer(typeLine('a', 'A')),
        writer(fc.oneof(headerLine('a'), typeLine('a', 'TXT'))),
        async ([one, oneSizes], [other, otherSizes]) => {
          run += 1;
          const [left, right] = [linesOf(one), linesOf(other)];
          await Promise.all([record(left, oneSizes), record(right, otherSizes)]);
          await expectAnswers(replayed(left, right));
        },
      );
      await fc.assert(property, { numRuns });
    },
    TIMEOUT,
  );

  it(
    'of one domain end in the state that one of their two orders gives',
    async () => {
      const lines = manyLines(observationLine(['a', 'b']));
      const property = fc.asyncProperty(lines, lines, async (one, other) => {
        run += 1;
        const [left, right] = [linesOf(one), linesOf(other)];
        await Promise.all([record(left), record(right)]);
        const [leftFirst, rightFirst] = [replayed(left, right), replayed(right, left)];
        for (const [domain, answer] of await answersOf(serving.url, leftFirst.keys())) {
          expect([leftFirst.get(domain), rightFirst.get(domain)]).toContain(answer);
        }
      });
      await fc.assert(property, { numRuns });
    },
    TIMEOUT,
  );
});
