import { prepareTemplate } from './template.js';

/** What vitest runs once, before all test files. */
export async function setup(): Promise<void> {
  await prepareTemplate();
}
