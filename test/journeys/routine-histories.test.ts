import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { changeItems } from '../replay/body.js';
import { replayLines } from '../replay/replay.js';
import { createTestHome, type TestHome } from '../support/database.js';
import { repeats } from '../support/long-form.js';
import { randomNumbers } from './changing-domains.js';
import { runDms } from './dms-command.js';
import { rotatingLines } from './rotating-domains.js';
import { answersOf, serveLocally } from './serving.js';

/** On each home, so that `.ci/run` has twice as many. */
const HISTORIES = Number(process.env['ROUTINE_HISTORIES'] ?? repeats(1_000, 60));
const SEED = Number(process.env['ROUTINE_SEED'] ?? Date.now() % 1_000_000);
const TIMEOUT = 900_000;

const names = Array.from({ length: HISTORIES }, (_, number) => `d${number}.example`);
const random = randomNumbers(SEED);
const lines = names.map((name) => rotatingLines(name, random));

let folder: string;
let home: TestHome;
let expected: ReadonlyMap<string, readonly object[]>;

async function importInto(into: TestHome, file: string, text: string, ...options: string[]): Promise<void> {
  await writeFile(join(folder, file), text);
  const { code, stderr } = await runDms(['import', ...options, join(folder, file)], into.environment);
  expect([code, stderr]).toEqual([0, expect.anything()]);
}

/** The changes of each domain in another home, which is removed. */
async function changesIn(other: TestHome): Promise<Map<string, readonly object[]>> {
  const serving = await serveLocally(other.environment);
  try {
    const bodies = await answersOf(serving.url, names, '/changes?first=500');
    const read = (body: string) => {
      const { changes } = JSON.parse(body) as { readonly changes: readonly Record<string, unknown>[] };
      return changes.map(({ id: _id, rdata: _rdata, ...change }) => change);
    };
    return new Map(Array.from(bodies, ([path, body]) => [path, read(body)] as const));
  } finally {
    await serving.close();
  }
}

async function expectSame(other: TestHome): Promise<void> {
  const found = await changesIn(other);
  const different = [...expected].filter(
    ([name, changes]) => JSON.stringify(found.get(name)) !== JSON.stringify(changes),
  );
  expect(different.map(([name]) => [name, found.get(name)]).slice(0, 1)).toEqual(different.slice(0, 1));
  const verified = await runDms(['verify'], other.environment);
  expect(verified).toMatchObject({ code: 0, stdout: expect.stringContaining(`in ${HISTORIES} domains`) });
}

const text = (parts: readonly (readonly string[])[]) => `${parts.flat().join('\n')}\n`;

describe('of rotating pools, keys, nonces and error pages, which changes are routine', () => {
  beforeAll(async () => {
    process.stdout.write(`seed ${SEED} (set ROUTINE_SEED to repeat), ${HISTORIES} histories\n`);
    folder = await mkdtemp(join(tmpdir(), 'dms-test-routine-'));
    const { histories } = replayLines(lines.flat());
    expected = new Map(Array.from(histories, ([name, history]) => [name, changeItems(history)]));
    home = await createTestHome();
    await importInto(home, 'all', text(lines));
  }, TIMEOUT);
  afterAll(async () => {
    await home?.remove();
    await rm(folder, { recursive: true });
  });

  it(
    'is what a replay of all rules says, which has every reason among them',
    async () => {
      await expectSame(home);
      const reasons = [...expected.values()].flat().map((change) => Reflect.get(change, 'routine'));
      const all = [
        'ADDRESS_HINT',
        'ERROR_PAGE',
        'INITIAL',
        'NONCE_ONLY',
        'ROTATING',
        'SERIAL_ONLY',
        'VALIDATOR',
      ];
      expect([...new Set(reasons)].filter(Boolean).sort()).toEqual(all);
    },
    TIMEOUT,
  );

  it(
    'is the same in another database, by export and import',
    async () => {
      const { code, stdout } = await runDms(['export'], home.environment);
      expect(code).toBe(0);
      const other = await createTestHome();
      try {
        await importInto(other, 'exported', stdout);
        await expectSame(other);
      } finally {
        await other.remove();
      }
    },
    TIMEOUT,
  );

  it(
    'is the same where the older observations come afterwards, in any order',
    async () => {
      const other = await createTestHome();
      const halves = lines.map((all) => {
        const at = Math.floor(random() * all.length);
        const older = all.slice(0, at).map((line) => ({ line, place: random() }));
        const shuffled = older.sort((one, another) => one.place - another.place).map(({ line }) => line);
        return { older: shuffled, newer: all.slice(at) };
      });
      try {
        await importInto(other, 'newer', text(halves.map(({ newer }) => newer)));
        await importInto(other, 'older', text(halves.map(({ older }) => older)), '--backfill');
        await expectSame(other);
      } finally {
        await other.remove();
      }
    },
    TIMEOUT,
  );
});
