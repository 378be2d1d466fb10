import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { runDms } from '../journeys/dms-command.js';
import { createTestHome, TEST_PARTITIONS, TEST_SERVER } from '../support/database.js';

// The embedded database of a test is migrated already, and so is a partitioned one.
test.skipIf(TEST_SERVER === undefined || TEST_PARTITIONS !== undefined)(
  'dms migrate says what it has applied, and then that the database is up to date',
  async () => {
    const home = await createTestHome();
    const migrate = () => runDms(['migrate'], home.environment);
    const applied = readdirSync('prisma/migrations').sort();
    expect(await migrate()).toMatchObject({
      code: 0,
      stdout: applied.map((name) => `applied ${name}\n`).join(''),
    });
    expect(await migrate()).toMatchObject({ code: 0, stdout: 'The database is up to date.\n', stderr: '' });
    await home.remove();
  },
);
