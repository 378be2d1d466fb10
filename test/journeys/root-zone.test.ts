import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDatabase } from '../../src/database/client.js';
import { bodies, type Replay, replayStream, totals } from '../replay/replay.js';
import { createTestHome, type TestHome } from '../support/database.js';
import { IS_LONG } from '../support/long-form.js';
import { type CommandResult, runDms, startDms } from './dms-command.js';
import { answersOf, differences, serve } from './serving.js';

/** An xz-compressed file with 208 versions of the DNS root zone as observations; README of bench/ says more. */
const ROOT_ZONE_FILE = process.env['ROOT_ZONE_FILE'] ?? '';

const MINUTE = 60_000;

function unpacked(): Readable {
  return spawn('xz', ['-dc', ROOT_ZONE_FILE], { stdio: ['ignore', 'pipe', 'inherit'] }).stdout;
}

/** Of the short form: what random observations give. */
describe.skipIf(ROOT_ZONE_FILE === '' || !IS_LONG)('the history of the DNS root zone', () => {
  let home: TestHome;
  let replay: Replay;
  let first: CommandResult;

  beforeAll(async () => {
    home = await createTestHome();
    first = await importRootZone();
    replay = await replayStream(unpacked());
  }, 30 * MINUTE);

  afterAll(() => home?.remove());

  function importRootZone(): Promise<CommandResult> {
    return startDms(['import', '-'], home.environment, unpacked()).result;
  }

  async function answers(): Promise<Map<string, string>> {
    const serving = await serve(home.environment);
    try {
      return await answersOf(serving.url, replay.histories.keys());
    } finally {
      await serving.close();
    }
  }

  async function versions(): Promise<unknown[]> {
    const database = await openDatabase(home.options);
    try {
      return (await database.pool.query('SELECT name, version, recorded_at FROM domain ORDER BY name')).rows;
    } finally {
      await database.close();
    }
  }

  it('is imported from standard input, every observation recorded', () => {
    expect(first.stderr).not.toContain('rejected');
    expect(first.code).toBe(0);
    expect(first.stdout).toMatch(/^recorded +314,561 \(2,876 with a change\)$/m);
    expect(first.stdout).toMatch(/^DNS records +18,620 added/m);
    expect(totals(replay)).toEqual({
      domains: 1_533,
      dnsRecords: 18_620,
      recorded: 314_561,
      changed: 2_876,
      stale: 0,
      repeated: 0,
    });
  });

  it(
    'is answered by Get domain for every domain, byte for byte as a plain replay of the file gives it',
    async () => {
      expect(differences(bodies(replay), await answers())).toEqual([]);
    },
    10 * MINUTE,
  );

  it(
    'stays the same in every byte and version when it is imported a second time',
    async () => {
      const before = await versions();
      const second = await importRootZone();
      expect(second.code).toBe(0);
      expect(second.stdout).toMatch(/^recorded +0 /m);
      expect(before).toHaveLength(1_533);
      expect(await versions()).toEqual(before);
      expect(differences(bodies(replay), await answers())).toEqual([]);
    },
    30 * MINUTE,
  );

  it(
    'breaks no rule that `dms verify` checks',
    async () => {
      expect(await runDms(['verify'], home.environment)).toMatchObject({ code: 0 });
    },
    10 * MINUTE,
  );
});
