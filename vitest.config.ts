import { defineConfig } from 'vitest/config';

export default defineConfig({
  // Tests read no .env file: what they do depends on the environment alone.
  envDir: false,
  test: {
    include: ['test/**/*.test.ts'],
    // Each test file with a database has a process of some 450 MB beside it.
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
