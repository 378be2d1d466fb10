// Loaded by every process that the tests start, by NODE_OPTIONS: see vitest.config.ts. The embedded database is
// WebAssembly of 9 MB, and V8 spends half of a short life's processor time on optimizing it. Baseline code does the same.
if (process.argv[1]?.endsWith('embedded-process.js')) require('node:v8').setFlagsFromString('--liftoff-only');
