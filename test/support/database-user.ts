import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { DatabaseOptions } from '../../src/database/client.js';
import { ended } from './processes.js';

const PROGRAM = fileURLToPath(new URL('./database-user-process.js', import.meta.url));

type Row = Readonly<Record<string, unknown>>;

export class DatabaseUser {
  readonly createdNow: boolean;
  readonly #child: ChildProcess;
  #sent = 0;

  static async start(options: DatabaseOptions): Promise<DatabaseUser> {
    const child = fork(PROGRAM, [JSON.stringify(options)], { serialization: 'advanced', execArgv: [] });
    const [opened] = await answerTo(child, 0);
    return new DatabaseUser(child, opened?.['createdNow'] === true);
  }

  private constructor(child: ChildProcess, createdNow: boolean) {
    this.#child = child;
    this.createdNow = createdNow;
  }

  /** @throws Error with the database's message. */
  query(sql: string): Promise<readonly Row[]> {
    this.#sent += 1;
    const answer = answerTo(this.#child, this.#sent);
    this.#child.send({ number: this.#sent, sql });
    return answer;
  }

  /** Ends the process as a crash would, in whatever it is doing. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await ended(this.#child.pid ?? 0);
  }

  /** Lets the process close its database and end. */
  async close(): Promise<void> {
    const exit = once(this.#child, 'exit');
    this.#child.disconnect();
    await exit;
  }
}

function answerTo(child: ChildProcess, number: number): Promise<readonly Row[]> {
  return new Promise((resolve, reject) => {
    const listen = (message: unknown) => {
      if (!isAnswer(message) || message.number !== number) return;
      child.off('message', listen);
      if (message.error === undefined) resolve(message.rows ?? []);
      else reject(new Error(message.error));
    };
    child.on('message', listen);
    child.once('exit', (code, signal) => reject(new Error(`The user's process ended: ${signal ?? code}.`)));
  });
}

interface Answer {
  readonly number: number;
  readonly rows?: readonly Row[];
  readonly error?: string;
}

function isAnswer(message: unknown): message is Answer {
  return typeof message === 'object' && message !== null && 'number' in message;
}
