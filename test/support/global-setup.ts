import { randomBytes } from 'node:crypto';
import type { TestProject } from 'vitest/node';
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
  const run = `run${randomBytes(6).toString('hex')}`;
  provide('testRun', run);
  return async () => {
    const { removeTestHomes } = await import('./database.js');
    await removeTestHomes(run);
  };
}
