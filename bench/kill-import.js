/**
 * Kills imports at random moments, twenty times unless KILLS says otherwise, and compares what they end
 * in with an import that was not killed: test/journeys/kill-import.test.ts with more kills, on the home
 * that DATABASE_URL names. KILL_FILE is another file to import, KILL_SEED repeats a run.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

const vitest = spawn(
  process.execPath,
  ['node_modules/vitest/vitest.mjs', 'run', 'test/journeys/kill-import.test.ts'],
  { cwd: root, env: { KILLS: '20', ...process.env }, stdio: 'inherit' },
);
const [code] = await once(vitest, 'close');
process.exitCode = code ?? 1;
