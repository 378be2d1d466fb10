import { randomBytes } from 'node:crypto';
import type { TestProject } from 'vitest/node';
import type { Pgbouncer } from './pgbouncer.js';
import { settingNames } from './setting-names.js';
import { prepareTemplate } from './template.js';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Names this run of tests: letters and digits. */
    readonly testRun: string;
  }
}

/** The settings that tests are run with on purpose, with the password of a server that has none in its URL. */
const TESTED_WITH = ['DATABASE_URL', 'CACHE_MB', 'PGPASSWORD'];

export async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  isolateEnvironment();
  await prepareTemplate();
  const pooler = await startPooler();
  const run = `run${randomBytes(6).toString('hex')}`;
  provide('testRun', run);
  return async () => {
    const { removeTestHomes } = await import('./database.js');
    await removeTestHomes(run);
    await pooler?.close();
  };
}

/** Keeps from the tests what whoever runs them has set for the service, and a locale that the machine may lack. */
function isolateEnvironment(): void {
  for (const name of settingNames()) if (!TESTED_WITH.includes(name)) delete process.env[name];
  // Every machine has it, and bash complains of others on standard error.
  process.env['LC_ALL'] = 'C';
}

/** With TEST_POOLER=pgbouncer, the tests reach the server at DATABASE_URL through it. */
async function startPooler(): Promise<Pgbouncer | undefined> {
  const server = process.env['DATABASE_URL'];
  if (process.env['TEST_POOLER'] !== 'pgbouncer' || !server) return undefined;
  const { CONNECT_QUERY, startPgbouncer } = await import('./pgbouncer.js');
  const pooler = await startPgbouncer(server, CONNECT_QUERY);
  process.env['DATABASE_URL'] = pooler.url;
  return pooler;
}
