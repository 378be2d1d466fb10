import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/** What has a long form, beside the short one in `npm test`. */
const JOURNEYS = [
  'test/journeys/**/*.test.ts',
  'test/database/{embedded,restore}.test.ts',
  'test/model/rdata-text.test.ts',
  'test/observer/dns/evidence-fuzz.test.ts',
];

/** Loaded by each process that a test starts. */
const QUICK_ENGINE = fileURLToPath(new URL('test/support/quick-engine.cjs', import.meta.url));

export default defineConfig({
  // Tests read no .env file: what they do depends on the environment alone.
  envDir: false,
  // Vite would take the module build of graphql, and graphql-jit requires the other: two copies in one
  // process do not know each other's types. Node.js itself takes this one for both.
  resolve: { alias: [{ find: /^graphql$/, replacement: fileURLToPath(import.meta.resolve('graphql')) }] },
  test: {
    include: process.env['JOURNEYS'] === 'long' ? JOURNEYS : ['test/**/*.test.ts'],
    // A worker loads the program once, not anew for each file: a third of the time. What a test replaces, it puts back.
    isolate: false,
    env: {
      NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --require ${JSON.stringify(QUICK_ENGINE)}`.trim(),
    },
    globalSetup: 'test/support/global-setup.ts',
    // Each has a database in a process of some 450 MB beside it.
    maxWorkers: 2,
    // Against a test that hangs, not one that is slow: machines are shared.
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
