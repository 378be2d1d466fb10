import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseDmsLine } from '../../src/importers/dms.js';
import { compareInstants, formatInstant, parseInstant } from '../../src/model/instant.js';
import { createTestHome, type TestHome } from '../support/database.js';
import { IS_LONG, repeats } from '../support/long-form.js';
import { randomNumbers } from './changing-domains.js';
import { runDms, startDms } from './dms-command.js';
import type { TimedLine } from './instants.js';
import { headerLine, observationLine, typeLine } from './random-observations.js';
import { answersOf, serveLocally } from './serving.js';

/** On each home, so that `.ci/run` has twice as many. */
const CASES = Number(process.env['BACKFILL_CASES'] ?? repeats(500, 40));
const KILLS = repeats(10, 2);
const SEED = Number(process.env['BACKFILL_SEED'] ?? Date.now() % 1_000_000);
const ROOT_ZONE_FILE = process.env['ROOT_ZONE_FILE'] ?? '';

const NOW = parseInstant('2026-01-01T00:00:00Z');
const MINUTE = 60_000;

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** The lines of a domain in the order of time, and an instant between its first and its last. */
interface Case {
  readonly domain: string;
  readonly lines: readonly TimedLine[];
  readonly cut: bigint;
}

function caseOf(place: number): Case {
  const domain = `c${place}.example`;
  const line = fc.oneof(
    observationLine([domain]),
    headerLine(domain),
    typeLine(domain, 'A'),
    typeLine(domain, 'TXT'),
  );
  const [observations = []] = fc.sample(fc.array(line, { minLength: 2, maxLength: 16 }), {
    seed: SEED + place,
    numRuns: 1,
  });
  const sources = new Map<string, string | undefined>();
  const lines = observations
    .map((observation) => {
      // Which of two observers of one instant it was is known only of what changed.
      const instant = String(parseInstant(observation.observedAt));
      if (!sources.has(instant)) sources.set(instant, observation.source);
      return JSON.stringify({ ...observation, source: sources.get(instant) });
    })
    .map((text) => ({ line: text, time: parseDmsLine(text, NOW).observedAt }))
    .sort((a, b) => compareInstants(a.time, b.time));
  const cut = lines[1 + ((SEED + place) % Math.max(1, lines.length - 1))]?.time ?? 0n;
  return { domain, lines, cut };
}

function textOf(lines: readonly TimedLine[]): string {
  return lines.map(({ line }) => `${line}\n`).join('');
}

describe('older observations that are put before newer ones', () => {
  const cases = Array.from({ length: CASES }, (_, place) => caseOf(place));
  const names = cases.map(({ domain }) => domain);
  const random = randomNumbers(SEED);
  let folder: string;
  let inOrder: TestHome;
  let cut: TestHome;
  const path = (name: string) => join(folder, name);

  beforeAll(async () => {
    say(`seed ${SEED} (set BACKFILL_SEED to repeat), ${CASES} cases`);
    folder = await mkdtemp(join(tmpdir(), 'dms-test-backfill-'));
    const older = cases.map(({ lines, cut: at }) => lines.filter(({ time }) => time < at));
    const newer = cases.map(({ lines, cut: at }) => lines.filter(({ time }) => time >= at));
    await writeFile(path('all'), cases.map(({ lines }) => textOf(lines)).join(''));
    await writeFile(path('newer'), newer.map(textOf).join(''));
    // In two files and in no order, but for lines of one instant, of which the first counts.
    const half = Math.ceil(older.length / 2);
    await writeFile(
      path('older-1'),
      older
        .slice(0, half)
        .map((lines) => textOf(lines.toSorted((a, b) => compareInstants(b.time, a.time))))
        .join(''),
    );
    await writeFile(path('older-2'), older.slice(half).map(textOf).reverse().join(''));
    [inOrder, cut] = [await createTestHome(), await createTestHome()];
    expect(await runDms(['import', path('all')], inOrder.environment)).toMatchObject({ code: 0 });
    await importCut(cut);
  }, 10 * MINUTE);

  afterAll(async () => {
    await inOrder?.remove();
    await cut?.remove();
    await rm(folder, { recursive: true });
  });

  async function importCut(home: TestHome): Promise<void> {
    expect(await runDms(['import', path('newer')], home.environment)).toMatchObject({ code: 0 });
    expect(await backfill(home)).toMatchObject({ code: 0 });
  }

  function backfill(home: TestHome) {
    return runDms(['import', '--backfill', path('older-1'), path('older-2')], home.environment);
  }

  async function exported(home: TestHome): Promise<string> {
    const { code, stdout } = await runDms(['export'], home.environment);
    expect(code).toBe(0);
    return stdout;
  }

  /** What REST says of each domain now and at an instant around its observations, and of some its details and changes. */
  async function answers(home: TestHome): Promise<Map<string, string>[]> {
    const serving = await serveLocally(home.environment);
    try {
      const then = cases.map(({ domain, lines, cut: at }, place) => {
        const around = lines.flatMap(({ time }) => [time - 1n, time]);
        const instants = [at, at - 1n, around[Number(at % BigInt(around.length))] ?? at];
        return `${domain}?at=${formatInstant(instants[place % 3] ?? at)}`;
      });
      const some = names.filter((_, place) => place % 10 === 0);
      const operations = ['details', 'changes?first=500'].flatMap((path) =>
        some.map((name) => `${name}/${path}`),
      );
      const bodies = [];
      for (const asked of [names, then, operations]) bodies.push(await answersOf(serving.url, asked));
      return bodies;
    } finally {
      await serving.close();
    }
  }

  it(
    'give the history of all of them recorded in order: in export, and in REST now and at instants',
    async () => {
      expect(await exported(cut)).toBe(await exported(inOrder));
      const [expected, found] = [await answers(inOrder), await answers(cut)];
      for (const [place, bodies] of expected.entries()) {
        expect(bodies.size).toBeGreaterThan(0);
        expect(found[place]).toEqual(bodies);
      }
      expect(await runDms(['verify'], cut.environment)).toMatchObject({ code: 0 });
    },
    10 * MINUTE,
  );

  it(
    'change nothing when they are put in again',
    async () => {
      const before = await exported(cut);
      expect((await backfill(cut)).stdout).toMatch(/^recorded +0 /m);
      expect(await exported(cut)).toBe(before);
    },
    5 * MINUTE,
  );

  it(
    'end in the same state if the import is killed again and again, and run once more',
    async () => {
      const home = await createTestHome();
      try {
        expect(await runDms(['import', path('newer')], home.environment)).toMatchObject({ code: 0 });
        for (let kills = 0; kills < KILLS; kills += 1) {
          const files = [path('older-1'), path('older-2')];
          const { child, result } = startDms(['import', '--backfill', ...files], home.environment);
          await pause(300 + 2_000 * random());
          child.kill('SIGKILL');
          await result;
        }
        expect(await backfill(home)).toMatchObject({ code: 0 });
        expect(await exported(home)).toBe(await exported(inOrder));
      } finally {
        await home.remove();
      }
    },
    10 * MINUTE,
  );
});

/** Of the short form: what random observations give. */
describe.skipIf(ROOT_ZONE_FILE === '' || !IS_LONG)(
  'the history of the DNS root zone, cut in the middle',
  () => {
    function unpacked(): Readable {
      return spawn('xz', ['-dc', ROOT_ZONE_FILE], { stdio: ['ignore', 'pipe', 'inherit'] }).stdout;
    }

    async function* linesWhere(isWanted: (observedAt: string) => boolean): AsyncGenerator<string> {
      for await (const line of createInterface({ input: unpacked() })) {
        if (isWanted(/"observedAt":"([^"]+)"/.exec(line)?.[1] ?? '')) yield `${line}\n`;
      }
    }

    it(
      'is that of the whole file, when its older half is put before the newer one',
      async () => {
        const middle = '2020-01-01T00:00:00Z';
        const [whole, halves] = [await createTestHome(), await createTestHome()];
        try {
          const importing = (home: TestHome, options: string[], lines: AsyncIterable<string>) =>
            startDms(['import', ...options, '-'], home.environment, Readable.from(lines)).result;
          expect(
            await importing(
              whole,
              [],
              linesWhere(() => true),
            ),
          ).toMatchObject({ code: 0 });
          expect(
            await importing(
              halves,
              [],
              linesWhere((time) => time >= middle),
            ),
          ).toMatchObject({ code: 0 });
          const older = await importing(
            halves,
            ['--backfill'],
            linesWhere((time) => time < middle),
          );
          expect(older).toMatchObject({ code: 0 });
          expect(older.stdout).toMatch(/^recorded +[1-9]/m);
          const [expected, found] = [
            await runDms(['export'], whole.environment),
            await runDms(['export'], halves.environment),
          ];
          expect(found.stdout === expected.stdout).toBe(true);
          expect(await runDms(['verify'], halves.environment)).toMatchObject({ code: 0 });
        } finally {
          await whole.remove();
          await halves.remove();
        }
      },
      30 * MINUTE,
    );
  },
);
