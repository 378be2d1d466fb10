/**
 * Sends 24,000 requests of every kind of wrong, unless FUZZ_REQUESTS says otherwise, and counts the
 * answers: test/journeys/fuzz.test.ts with more requests, on the home that DATABASE_URL names. FUZZ_SEED
 * repeats a run.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

const vitest = spawn(
  process.execPath,
  ['node_modules/vitest/vitest.mjs', 'run', 'test/journeys/fuzz.test.ts'],
  { cwd: root, env: { FUZZ_REQUESTS: '24000', ...process.env }, stdio: 'inherit' },
);
const [code] = await once(vitest, 'close');
process.exitCode = code ?? 1;
