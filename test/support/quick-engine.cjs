// Loaded by every process that the tests start: see vitest.config.ts. The embedded database is WebAssembly of 9 MB,
// and V8 spends half of the processor time of a short life on optimizing it. Its baseline code does the same.
if (/[\\/]database[\\/]embedded/.test(process.argv[1] ?? '')) {
  require('node:v8').setFlagsFromString('--liftoff-only');
}
