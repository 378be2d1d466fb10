import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { DatabaseOptions } from '../../src/database/client.js';
import { endChild } from './processes.js';

const PROGRAM = fileURLToPath(new URL('./database-user-process.js', import.meta.url));

type Row = Readonly<Record<string, unknown>>;

export type DatabaseUser = Awaited<ReturnType<typeof startDatabaseUser>>;

/** Starts a process of its own that has a database open, and is sent one statement after the other. */
export async function startDatabaseUser(options: DatabaseOptions) {
  const child = fork(PROGRAM, [JSON.stringify(options)], { serialization: 'advanced', execArgv: [] });
  child.setMaxListeners(0);
  /** @throws Error with the database's message. */
  const answer = async (): Promise<readonly Row[]> => {
    const [said] = await Promise.race([once(child, 'message'), once(child, 'exit')]);
    if (Array.isArray(said)) return said;
    throw new Error(typeof said === 'string' ? said : `The user's process ended: ${said}.`);
  };
  const [opened] = await answer();
  return {
    createdNow: opened?.['createdNow'] === true,
    query(sql: string) {
      child.send(sql);
      return answer();
    },
    /** Ends the process as a crash would, in whatever it is doing. */
    kill: () => endChild(child, 'SIGKILL'),
    /** Lets the process close its database and end. */
    async close(): Promise<void> {
      const exit = once(child, 'exit');
      child.disconnect();
      await exit;
    },
  };
}
