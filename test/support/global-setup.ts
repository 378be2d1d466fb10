import { randomBytes } from 'node:crypto';
import type { TestProject } from 'vitest/node';
import type { Pgbouncer } from './pgbouncer.js';
import { prepareTemplate } from './template.js';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Names this run of tests: letters and digits. */
    readonly testRun: string;
  }
}

/** What vitest runs once, before all test files; what it returns, after them. */
export async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
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

/** With TEST_POOLER=pgbouncer, the tests reach the server at DATABASE_URL through it. */
async function startPooler(): Promise<Pgbouncer | undefined> {
  const server = process.env['DATABASE_URL'];
  if (process.env['TEST_POOLER'] !== 'pgbouncer' || !server) return undefined;
  const { CONNECT_QUERY, startPgbouncer } = await import('./pgbouncer.js');
  const pooler = await startPgbouncer(server, CONNECT_QUERY);
  process.env['DATABASE_URL'] = pooler.url;
  return pooler;
}
