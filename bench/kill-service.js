/**
 * Kills the service while it records, thirty times unless SERVICE_KILLS says otherwise, and a PostgreSQL
 * server of its own under load, ten times unless POSTGRESQL_KILLS does: the tests test/journeys/faults-kill-*
 * with more kills. The service's database is on the home that DATABASE_URL names; the server that is killed is
 * made for it, on a free port, and needs PostgreSQL's programs. KILL_SEED repeats a run.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

const vitest = spawn(
  process.execPath,
  ['node_modules/vitest/vitest.mjs', 'run', '--no-file-parallelism', 'test/journeys/faults-kill-'],
  { cwd: root, env: { SERVICE_KILLS: '30', POSTGRESQL_KILLS: '10', ...process.env }, stdio: 'inherit' },
);
const [code] = await once(vitest, 'close');
process.exitCode = code ?? 1;
