import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
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
/** In milliseconds: the latest moment after a part of the input was read. */
const LATEST = 3000;

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
      const lines = changingDomains({ domains: DOMAINS, rounds: repeats(40, 10) + 20 * KILLS, random });
      await pipeline(Readable.from(withLineFeeds(lines)), createWriteStream(file));
    }
    expected = bodies(await replayStream(createReadStream(file)));
  }, 5 * MINUTE);

  afterAll(() => rm(folder, { recursive: true }));

  it(
    'ends, run once more, in the state of an import that was not killed',
    async () => {
      say(`seed ${SEED} (set KILL_SEED to repeat), ${KILLS} kills`);
      for (let kills = 0; kills < KILLS; ) {
        const home = await createTestHome();
        try {
          kills += await killImports(home, KILLS - kills);
          await expectWhole(home);
        } finally {
          await home.remove();
        }
      }
    },
    (10 + 2 * KILLS) * MINUTE,
  );

  /**
   * Starts imports and kills each at a random place of its input, until enough were killed or one came to its end.
   *
   * @returns how many were killed.
   */
  async function killImports(home: TestHome, most: number): Promise<number> {
    for (let kills = 1; kills <= most; kills += 1) {
      const victim = VICTIMS[Math.floor(random() * VICTIMS.length)] ?? 'importer';
      const [place, moment] = [random(), Math.round(LATEST * random())];
      const outcome = await killImport(home, victim, place, moment);
      const given = Math.round(100 * place);
      say(`${victim} ${moment} ms after ${given} % were read: ${outcome}; ${await progressOf(home)}`);
      if (outcome === 'survived') return kills;
    }
    return most;
  }

  /**
   * Starts an import and kills it, or the database under it, so many milliseconds after it has taken a part of its input:
   * what it has read it records meanwhile.
   *
   * @returns how it ended: `survived` where it went on to its end, or how it failed.
   */
  async function killImport(home: TestHome, victim: Victim, place: number, moment: number): Promise<string> {
    const { size } = await stat(file);
    let goOn = () => {};
    const killed = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    let taken = () => {};
    const isTaken = new Promise<void>((resolve) => {
      taken = resolve;
    });
    async function* input(): AsyncGenerator<Buffer> {
      let given = 0;
      for await (const part of createReadStream(file)) {
        yield part;
        given += part.length;
        if (given < place * size) continue;
        taken();
        await killed;
      }
    }
    const { child, result } = startDms(['import', '-'], home.environment, Readable.from(input()));
    await isTaken;
    await pause(moment);
    if (victim !== 'importer') await killOwner(home);
    if (victim !== 'owner') child.kill('SIGKILL');
    goOn();
    const { code, signal, stderr } = await result;
    if (code === 0) return 'survived';
    return signal ?? `exit ${code}, ${stderr.trim().split('\n').at(-1)}`;
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
