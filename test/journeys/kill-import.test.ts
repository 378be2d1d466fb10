import { createReadStream, createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { bodies, replayStream } from '../replay/replay.js';
import { killOwner } from '../support/data-directory.js';
import { createTestHome, TEST_SERVER, type TestHome } from '../support/database.js';
import { repeats, say } from '../support/long-form.js';
import { prepareFolder } from '../support/temporary-folder.js';
import { changingDomains, randomNumbers } from './changing-domains.js';
import { runDms, startDms } from './dms-command.js';
import { answersIn, differences } from './serving.js';

/** bench/kill-import.js sets more, and perhaps another file. */
const KILLS = Number(process.env['KILLS'] ?? repeats(3, 1));
const SEED = Number(process.env['KILL_SEED'] ?? Date.now() % 1_000_000);
const GIVEN_FILE = process.env['KILL_FILE'];

const MINUTE = 60_000;
/** In milliseconds, after the start of an import: the more kills, the more there is to import. */
const LATEST = repeats(4_000, 1_500) + 200 * KILLS;

/** Which process dies: the one that imports, the one that has the embedded database open, or both. */
const VICTIMS = TEST_SERVER === undefined ? ['importer', 'owner', 'both'] : ['importer'];

const random = randomNumbers(SEED);
const { folder } = prepareFolder();
const file = GIVEN_FILE ?? `${folder}/observations.ndjson`;
let expected: Map<string, string>;

beforeAll(async () => {
  if (GIVEN_FILE === undefined) {
    const lines = changingDomains(repeats(200, 40), repeats(40, 10) + 20 * KILLS, SEED);
    await pipeline(
      Readable.from(lines).map((line) => `${line}\n`),
      createWriteStream(file),
    );
  }
  expected = bodies(await replayStream(createReadStream(file)));
}, 5 * MINUTE);

test(
  'an import that is killed again and again ends, run once more, in the state of an import that was not killed',
  async () => {
    say(`seed ${SEED} (set KILL_SEED to repeat), ${KILLS} kills`);
    for (let kills = 0; kills < KILLS; ) {
      const home = await createTestHome();
      onTestFinished(home.remove);
      kills += await killImports(home, KILLS - kills);
      expect(await runDms(['import', file], home.environment)).toMatchObject({ code: 0 });
      expect(await runDms(['verify'], home.environment)).toMatchObject({ code: 0 });
      expect(differences(expected, await answersIn(home.environment, expected.keys()))).toEqual([]);
    }
  },
  (10 + 2 * KILLS) * MINUTE,
);

/** Starts imports and kills each at a random moment, until enough were killed or one came to its end. @returns how many were. */
async function killImports(home: TestHome, most: number): Promise<number> {
  for (let kills = 1; kills <= most; kills += 1) {
    const victim = VICTIMS[Math.floor(random() * VICTIMS.length)] ?? 'importer';
    const moment = Math.round(LATEST * random());
    const { child, result } = startDms(['import', file], home.environment);
    await pause(moment);
    if (victim !== 'importer') await killOwner(home.options.dataDirectory);
    if (victim !== 'owner') child.kill('SIGKILL');
    const { code, signal, stderr } = await result;
    const outcome = signal ?? `exit ${code}, ${stderr.trim().split('\n').at(-1)}`;
    say(`${victim} ${moment} ms after the start: ${outcome}`);
    if (code === 0) return kills;
  }
  return most;
}
