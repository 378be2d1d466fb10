// Loaded by every process that the tests start: see vitest.config.ts. Most live for a second or two, of which V8 spends half
// on optimizing code that runs no more: 9 MB of WebAssembly of the embedded database, 2 MB of Prisma. Its baseline code
// does the same; JavaScript that goes on for long is optimized later.
if (/[\\/](?:bin[\\/]dms|owner|database-user-process)\.js$/.test(process.argv[1] ?? '')) {
  const { setFlagsFromString } = require('node:v8');
  setFlagsFromString('--liftoff-only');
  // Functions are validated where they are compiled, when they are first called.
  setFlagsFromString('--wasm-lazy-validation');
  // The V8 of Node.js 20 alone knows it, and any other complains of it on standard error; later ones optimize less by themselves.
  if (process.versions.node.startsWith('20.')) setFlagsFromString('--interrupt-budget=2000000');
}
