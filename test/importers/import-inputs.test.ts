import { PassThrough } from 'node:stream';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { beforeEach, expect, test } from 'vitest';
import { readSettings } from '../../src/config/env.js';
import { InputParser } from '../../src/importers/formats.js';
import { importInputs } from '../../src/importers/import-inputs.js';
import { ImportSummary } from '../../src/importers/import-summary.js';
import { openInput } from '../../src/importers/open-input.js';
import { createRecorder, type Recorder } from '../../src/recorder/recorder.js';
import { databaseOfFile, emptyTestDatabase } from '../support/database.js';
import { instant, NOW, observationLine } from '../support/observations.js';

const database = databaseOfFile();
beforeEach(() => emptyTestDatabase(database));

const { limits } = readSettings({ LIMIT_HEADER_VALUE: '100000' });
const parsing = { now: () => NOW, limits, ignoredHeaders: new Set<string>(), onDetected: () => {} };

/** Imports standard input, as long as it is open. */
function importStandardInput() {
  const stdin = new PassThrough();
  const summary = new ImportSummary();
  const real = createRecorder(database.pool);
  /** Of each batch that the recorder got, and how many lines were read by then. */
  const given: { readonly observations: number; readonly linesRead: number }[] = [];
  let [recording, most] = [0, 0];
  const recorder: Recorder = {
    ...real,
    async record(batch) {
      given.push({ observations: batch.length, linesRead: summary.linesRead });
      recording += 1;
      most = Math.max(most, recording);
      return real.record(batch).finally(() => {
        recording -= 1;
      });
    },
  };
  async function* inputs() {
    yield await openInput('-', stdin, () => {});
  }
  const end = importInputs(inputs(), {
    ...{ recorder, summary, createParser: () => new InputParser('dms', parsing), onRejected: () => {} },
    ...{ strict: false, sort: false, backfill: false, sorting: { onRead: () => {}, onSorted: () => {} } },
    signal: new AbortController().signal,
  });
  return {
    ...{ given, summary, mostAtOnce: () => most },
    isRecording: () => recording > 0,
    isGiven: (line: number) => given.reduce((sum, { observations }) => sum + observations, 0) >= line,
    async finish(): Promise<void> {
      stdin.end();
      expect(await end).toBe('complete');
    },
    /** Returns once the lines are read. */
    async write(lines: readonly string[]): Promise<void> {
      const all = summary.linesRead + lines.length;
      stdin.write(`${lines.join('\n')}\n`);
      while (summary.linesRead < all) await nextTurn();
    },
  };
}

async function latestRecorded(): Promise<bigint | undefined> {
  const { rows } = await database.pool.query<{ last: bigint }>('SELECT max(last_update) AS last FROM domain');
  return rows[0]?.last;
}

test('a line of standard input begins to be recorded at most a second after it came, although others follow each tenth of a second', async () => {
  const input = importStandardInput();
  const late: number[] = [];
  const checks: Promise<unknown>[] = [];
  for (let line = 1; line <= 20; line += 1) {
    await input.write([observationLine({ at: line, records: ['192.0.2.1'] })]);
    // Of two timers of a process the shorter fires first, however busy the machine is. What a slow database still
    // records when the second is over, the next batch waits for.
    const check = () => input.isGiven(line) || input.isRecording() || late.push(line);
    checks.push(pause(1_000).then(check));
    await pause(100);
  }
  await Promise.all(checks);
  expect(late).toEqual([]);
  expect(input.given.length).toBeGreaterThan(1);
  await expect.poll(latestRecorded).toBe(instant(20));
  await input.finish();
});

test.each([
  ['10,000 lines', 24_000, () => ({ headers: { 'x-a': 'same' } })],
  ['2,000 domains', 5_000, (at: number) => ({ domain: `d${at}.example`, headers: {} })],
  ['256 kB', 12, (at: number) => ({ headers: { 'x-a': at + 'x'.repeat(50_000) } })],
])('lines that come at once are recorded by batches of %s, without a wait', async (_, count, partsOf) => {
  const input = importStandardInput();
  const lines = Array.from({ length: count }, (_line, at) => observationLine({ at, ...partsOf(at) }));
  await input.write(lines);
  // The lines of one chunk are read in one turn of the event loop until a batch is full: no timer fires between them.
  expect(input.given[0]?.linesRead).toBe(input.given[0]?.observations);
  expect(input.given[0]?.linesRead).toBeLessThanOrEqual(count / 2);
  await expect.poll(latestRecorded).toBe(instant(count - 1));
  await input.finish();
});

test('lines of a domain are recorded in their order, while batches of other domains are recorded at once', async () => {
  const input = importStandardInput();
  // Some five lines are a batch. Three domains alternate, then come ten that have two lines each.
  const domains = [
    ...Array.from({ length: 30 }, (_, at) => `alternating${at % 3}.example`),
    ...Array.from({ length: 20 }, (_, at) => `twice${Math.floor(at / 2)}.example`),
  ];
  const lines = domains.map((domain, at) =>
    observationLine({ domain, at, headers: { 'x-a': at + 'x'.repeat(50_000) } }),
  );
  await input.write(lines);
  await input.finish();
  expect(input.summary).toMatchObject({ changed: lines.length, stale: 0 });
  expect(input.mostAtOnce()).toBeGreaterThan(1);
});
