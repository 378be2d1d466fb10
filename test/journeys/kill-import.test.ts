import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDatabase } from '../../src/database/client.js';
import { bodies, replayStream } from '../replay/replay.js';
import { ownerOf } from '../support/data-directory.js';
import { createTestHome, TEST_SERVER, type TestHome } from '../support/database.js';
import { repeats } from '../support/long-form.js';
import { killAtOnce } from '../support/processes.js';
import { changingDomains, randomNumbers } from './changing-domains.js';
import { runDms, startDms } from './dms-command.js';
import { answersOf, differences, serveLocally } from './serving.js';

/** bench/kill-import.js sets more, and perhaps another file. */
const KILLS = Number(process.env['KILLS'] ?? repeats(3, 2));
const DOMAINS = repeats(200, 40);
const SEED = Number(process.env['KILL_SEED'] ?? Date.now() % 1_000_000);
const GIVEN_FILE = process.env['KILL_FILE'];

const MINUTE = 60_000;

/** Which process dies: the one that imports, the one that has the embedded database open, or both. */
const VICTIMS =
  TEST_SERVER === undefined ? (['importer', 'owner', 'both'] as const) : (['importer'] as const);

type Victim = (typeof VICTIMS)[number];

describe('an import that is killed again and again', () => {
  const random = randomNumbers(SEED);
  let folder: string;
  let file: string;
  /** What a plain replay of the file gives. */
  let expected: Map<string, string>;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'dms-kill-'));
    file = GIVEN_FILE ?? join(folder, 'observations.ndjson');
    if (GIVEN_FILE === undefined) {
      const lines = changingDomains({ domains: DOMAINS, rounds: 40 + 20 * KILLS, random });
      await pipeline(Readable.from(withLineFeeds(lines)), createWriteStream(file));
    }
    expected = bodies(await replayStream(createReadStream(file)));
  }, 5 * MINUTE);

  afterAll(() => rm(folder, { recursive: true }));

  it(
    'ends, run once more, in the state of an import that was not killed',
    async () => {
      say(`seed ${SEED} (set KILL_SEED to repeat), ${KILLS} kills`);
      let latest = await timeOfWholeImport();
      for (let kills = 0; kills < KILLS; ) {
        const home = await createTestHome();
        try {
          const killed = await killImports(home, latest, KILLS - kills);
          kills += killed;
          if (killed > 0) await expectWhole(home);
          // A machine with less to do than before imports faster.
          else latest *= 0.6;
        } finally {
          await home.remove();
        }
      }
    },
    (10 + 2 * KILLS) * MINUTE,
  );

  /** @returns how many milliseconds an import takes that is not killed, from the start of its process. */
  async function timeOfWholeImport(): Promise<number> {
    const home = await createTestHome();
    try {
      const began = performance.now();
      expect(await startDms(['import', file], home.environment).result).toMatchObject({ code: 0 });
      const milliseconds = performance.now() - began;
      await expectWhole(home);
      return milliseconds;
    } finally {
      await home.remove();
    }
  }

  /**
   * Starts imports and kills each at a random moment, until enough were killed or one came to its end.
   *
   * @param latest The latest moment, in milliseconds.
   * @returns how many were killed.
   */
  async function killImports(home: TestHome, latest: number, most: number): Promise<number> {
    for (let kills = 1; kills <= most; kills += 1) {
      const victim = VICTIMS[Math.floor(random() * VICTIMS.length)] ?? 'importer';
      const moment = Math.round((0.2 + 0.8 * random()) * latest);
      const outcome = await killImport(home, file, victim, moment);
      say(`${victim} after ${moment} ms: ${outcome}; ${await progressOf(home)}`);
      if (outcome === 'done before') return kills - 1;
      if (outcome === 'survived') return kills;
    }
    return most;
  }

  /** Runs the import once more, and compares what is stored with what it has to be. */
  async function expectWhole(home: TestHome): Promise<void> {
    expect(await runDms(['import', file], home.environment)).toMatchObject({ code: 0 });
    expect(await runDms(['verify'], home.environment)).toMatchObject({ code: 0 });
    const serving = await serveLocally(home.environment);
    try {
      expect(differences(expected, await answersOf(serving.url, expected.keys()))).toEqual([]);
    } finally {
      await serving.close();
    }
  }
});

/**
 * Starts an import and kills it, or the database under it, after so many milliseconds.
 *
 * @returns how it ended: `done before`, `survived` where it went on to its end, or how it failed.
 */
async function killImport(home: TestHome, file: string, victim: Victim, moment: number): Promise<string> {
  const { child, result } = startDms(['import', file], home.environment);
  const done = await Promise.race([result, pause(moment)]);
  if (done !== undefined) {
    expect(done).toMatchObject({ code: 0 });
    return 'done before';
  }
  if (victim !== 'importer') await killOwner(home);
  if (victim !== 'owner') child.kill('SIGKILL');
  const { code, signal, stderr } = await result;
  if (code === 0) return 'survived';
  return signal ?? `exit ${code}, ${stderr.trim().split('\n').at(-1)}`;
}

/** Kills the process that has the embedded database open, if there is one at this moment. */
async function killOwner(home: TestHome): Promise<void> {
  const owner = await ownerOf(home.options.dataDirectory).catch(() => null);
  if (owner !== null) await killAtOnce(owner);
}

/** How far the imports have come. */
async function progressOf({ options }: TestHome): Promise<string> {
  const database = await openDatabase(options);
  try {
    const { rows } = await database.pool.query<{ progress: string }>(
      `SELECT format('%s DNS records, %s header changes', (SELECT count(*) FROM dns_record),
                     (SELECT count(*) FROM header_change)) AS progress`,
    );
    return rows[0]?.progress ?? '';
  } catch {
    return 'not even the tables';
  } finally {
    await database.close();
  }
}

function* withLineFeeds(lines: Iterable<string>): Generator<string> {
  for (const line of lines) yield `${line}\n`;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
