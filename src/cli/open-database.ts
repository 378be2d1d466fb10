import type { Connections } from '../database/client.js';
import { migrate } from '../database/migrate.js';

/** Brings an open database up to date, works on it, and closes it. @throws OperationError as migrate() does. */
export async function withMigrated<Opened extends Connections, Result>(
  database: Opened,
  work: (database: Opened) => Promise<Result>,
): Promise<Result> {
  try {
    await migrate(database.pool);
    return await work(database);
  } finally {
    await database.close();
  }
}
