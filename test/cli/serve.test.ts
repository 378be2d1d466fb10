import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { type DmsCommand, runDms, startDms } from '../journeys/dms-command.js';
import { newDataDirectory, removeDataDirectory } from '../support/data-directory.js';
import { openTestDatabase } from '../support/database.js';
import { copyTemplate } from '../support/template.js';

/** A new embedded database takes seconds, and more on a busy machine. */
const SLOW = { timeout: 120_000 };

const cleanUp: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const end of cleanUp.splice(0).reverse()) await end();
});

/** Settles with what was said so far once it says that it is ready; fails if it ends instead. */
async function ready({ child, result }: DmsCommand): Promise<string> {
  const said = new Promise<string>((resolve) => {
    let text = '';
    child.stdout?.on('data', (part: string) => {
      text += part;
      if (text.includes('Stop with Ctrl-C.')) resolve(text);
    });
  });
  const ended = result.then(({ code, stderr }): never => {
    throw new Error(`It ended with ${code}: ${stderr}`);
  });
  return Promise.race([said, ended]);
}

async function serve(environment: Record<string, string>) {
  const command = startDms(['serve'], { PORT: '0', ...environment });
  cleanUp.push(async () => {
    command.child.kill('SIGKILL');
    await command.result;
  });
  const said = await ready(command);
  const curl = /^Try: +curl (\S+)$/m.exec(said)?.[1];
  const url = /^Serving at (\S+)\/$/m.exec(said)?.[1] ?? '';
  return { ...command, said, curl, url };
}

async function sampleDomains(): Promise<Set<string>> {
  const lines = await readFile(new URL('../../samples/observations.ndjson', import.meta.url), 'utf8');
  return new Set(
    lines
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).domain),
  );
}

async function freshDirectory(): Promise<string> {
  const directory = await newDataDirectory();
  cleanUp.push(() => removeDataDirectory(directory));
  return directory;
}

describe('dms serve on a new embedded database', SLOW, () => {
  test('records the samples, says so, and prints a curl line that works', async () => {
    const { said, curl } = await serve({ DATA_DIR: await freshDirectory(), SAMPLES: 'on' });
    expect(said).toMatch(/^Recorded \d+ sample domains \(SAMPLES=off starts empty\)\.$/m);
    const response = await fetch(curl ?? '');
    expect(response.status).toBe(200);
    expect(JSON.parse(await response.text())).toMatchObject({ domain: 'example.com' });
  });

  test('says where the database is', async () => {
    const dataDirectory = await freshDirectory();
    const { said } = await serve({ DATA_DIR: dataDirectory });
    expect(said).toMatch(new RegExp(`^Database: embedded, in ${dataDirectory}$`, 'm'));
  });

  test('killed while it records the samples, records them at its next start', async () => {
    const dataDirectory = await freshDirectory();
    const first = startDms(['serve'], { DATA_DIR: dataDirectory, SAMPLES: 'on', PORT: '0' });
    await expect
      .poll(() => readdir(dataDirectory), { interval: 5, timeout: 60_000 })
      .toContain('postgresql-18');
    first.child.kill('SIGKILL');
    await first.result;
    const { url } = await serve({ DATA_DIR: dataDirectory, SAMPLES: 'on' });
    for (const name of await sampleDomains()) {
      const response = await fetch(`${url}/api/v1/domain/${encodeURIComponent(name)}`);
      expect([name, response.status]).toEqual([name, 200]);
    }
  });

  test('killed before it recorded a sample, says at its next start that it has done so, and then no more', async () => {
    const dataDirectory = await freshDirectory();
    await copyTemplate(dataDirectory);
    // What a kill leaves: a database that was made to be filled, and nothing in it.
    await writeFile(join(dataDirectory, 'unfilled'), '');
    const again = await serve({ DATA_DIR: dataDirectory, SAMPLES: 'on' });
    expect(again.said).toMatch(/^Recorded \d+ sample domains/m);
    expect(await readdir(dataDirectory)).not.toContain('unfilled');
    again.child.kill('SIGTERM');
    await again.result;
    expect((await serve({ DATA_DIR: dataDirectory, SAMPLES: 'on' })).said).not.toContain('sample');
  });

  test('finds no samples wanted in a database that another command has made', async () => {
    const dataDirectory = await freshDirectory();
    await runDms(['migrate'], { DATA_DIR: dataDirectory });
    expect((await serve({ DATA_DIR: dataDirectory, SAMPLES: 'on' })).said).not.toContain('sample');
  });

  test('starts empty with SAMPLES=off', async () => {
    const { said, url } = await serve({ DATA_DIR: await freshDirectory(), SAMPLES: 'off' });
    expect(said).toContain('Nothing is recorded yet: npx dms import FILE records.');
    expect((await fetch(`${url}/api/v1/domain/example.com`)).status).toBe(404);
  });
});

describe('dms serve', SLOW, () => {
  test('leaves a database that was there as it is', async () => {
    const database = await openTestDatabase();
    cleanUp.push(() => database.close());
    const { said } = await serve({ ...database.environment, SAMPLES: 'on' });
    expect(said).not.toContain('sample');
    expect((await database.pool.query('SELECT * FROM domain')).rows).toEqual([]);
  });

  test.each(['SIGTERM', 'SIGINT'] as const)('ends with exit code 0 on %s', async (signal) => {
    const database = await openTestDatabase();
    cleanUp.push(() => database.close());
    const { child, result, url } = await serve(database.environment);
    expect((await fetch(`${url}/`)).status).toBe(200);
    child.kill(signal);
    expect(await result).toMatchObject({ code: 0, signal: null });
  });

  test('exits 1 with one line that names PORT where the port is in use', async () => {
    const database = await openTestDatabase();
    cleanUp.push(() => database.close());
    const occupant = createServer().listen(0, '127.0.0.1');
    cleanUp.push(() => once(occupant.close(), 'close'));
    await once(occupant, 'listening');
    const port = portOf(occupant.address());
    const { code, stdout, stderr } = await runDms(['serve'], { ...database.environment, PORT: String(port) });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(
      new RegExp(`^dms: Port ${port} of 127\\.0\\.0\\.1 is in use: set PORT to [^\\n]+\\n$`),
    );
  });
});

describe('dms migrate', SLOW, () => {
  test('says what it has done, and that there is nothing left to do', async () => {
    const environment = { DATA_DIR: await freshDirectory() };
    const first = await runDms(['migrate'], environment);
    expect(first).toMatchObject({ code: 0, stderr: '' });
    expect(first.stdout).toMatch(/^(applied \S+\n)+$/);
    expect(await runDms(['migrate'], environment)).toMatchObject({
      code: 0,
      stdout: 'The schema is up to date.\n',
      stderr: '',
    });
  });
});

function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === 'string') throw new Error('It does not listen.');
  return address.port;
}
