import { readdir, readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { newDataDirectory, removeDataDirectory } from '../support/data-directory.js';
import { IS_LONG } from '../support/long-form.js';
import { startDms } from './dms-command.js';
import { serveLocally } from './serving.js';

async function sampleDomains(): Promise<Set<string>> {
  const lines = await readFile(new URL('../../samples/observations.ndjson', import.meta.url), 'utf8');
  return new Set(
    lines
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).domain),
  );
}

// Its short form is in test/cli/serve.test.ts: a start on what such a kill leaves.
test.runIf(IS_LONG)(
  'dms serve, killed while it records the samples, records them at its next start',
  async () => {
    const dataDirectory = await newDataDirectory();
    const first = startDms(['serve'], { DATA_DIR: dataDirectory, SAMPLES: 'on', PORT: '0' });
    await expect
      .poll(() => readdir(dataDirectory), { interval: 5, timeout: 120_000 })
      .toContain('postgresql-18');
    first.child.kill('SIGKILL');
    await first.result;
    const { url, close } = await serveLocally({ DATA_DIR: dataDirectory, SAMPLES: 'on' });
    for (const name of await sampleDomains()) {
      const response = await fetch(`${url}/api/v1/domain/${encodeURIComponent(name)}`);
      expect([name, response.status]).toEqual([name, 200]);
    }
    await close();
    await removeDataDirectory(dataDirectory);
  },
  300_000,
);
