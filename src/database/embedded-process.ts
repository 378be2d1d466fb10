import { inspect } from 'node:util';
import { OperationError } from '../model/errors.js';
import { MAKINGS } from './embedded/data-folder.js';
import type { OwnerReport } from './embedded/report.js';

/**
 * The program of the process that opens the embedded database: its arguments are the data folder, the
 * time of grace in milliseconds, and what becomes of a data folder without a database. Start-owner.ts
 * starts it.
 */
const [dataDirectory = '', grace = '', wanted = ''] = process.argv.slice(2);

/** Exits without closing anything, so that nothing more is written to the data folder. */
function abandon(reason: unknown): never {
  process.stderr.write(`${new Date().toISOString()} ${inspect(reason)}\n`);
  process.exit(1);
}

/** Tells the process that started this one, which may be gone by now, and lets go of it. */
function report(message: OwnerReport): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => {
      if (process.connected) process.disconnect();
      resolve();
    };
    if (process.connected && process.send) process.send(message, undefined, undefined, settle);
    else settle();
  });
}

try {
  const { Owner } = await import('./embedded/owner.js');
  const owner = new Owner({
    dataDirectory,
    graceMilliseconds: Number(grace),
    making: MAKINGS.find((making) => making === wanted) ?? 'none',
    report,
    abandon,
  });
  // The users get the same signal where a whole group is stopped, and need the database to finish.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => owner.hurry());
  await owner.run();
  process.exit(0);
} catch (error) {
  // What the user can mend is said by the process that started this one; the rest is for the log.
  if (!(error instanceof OperationError)) abandon(error);
  await report({ state: 'failed', message: error.message });
  process.exit(1);
}
