import { join } from 'node:path';
import { Readable } from 'node:stream';
import { beforeEach, expect } from 'vitest';
import type { Settings } from '../../src/config/settings.js';
import type { StoredHistory } from '../../src/history/stored-history.js';
import { readHistories } from '../../src/recorder/read-histories.js';
import { type CommandResult, runDms } from '../journeys/dms-command.js';
import { databaseOfFile, emptyTestDatabase } from './database.js';
import { serviceOfFile } from './service.js';
import { prepareFolder } from './temporary-folder.js';

type Environment = Readonly<Record<string, string>>;

interface CommandsOptions {
  /** Before each test. */
  readonly emptied?: boolean;
  /** Settings of a service on the same database; absent: there is none. */
  readonly served?: Partial<Settings>;
  /** Settings of all commands, beside those of their database. */
  readonly settings?: () => Environment;
}

/** The commands of a test file, on a database of their own. */
export function prepareCommands({ emptied = false, served, settings = () => ({}) }: CommandsOptions = {}) {
  const { folder, write } = prepareFolder();
  const database = databaseOfFile();
  const service = served && serviceOfFile(() => ({ database, ...served }));
  if (emptied) beforeEach(() => emptyTestDatabase(database));

  const dms = (
    args: readonly string[],
    input: string | Buffer | Readable = '',
    environment: Environment = {},
  ) =>
    runDms(
      args,
      { ...database.environment, ...settings(), ...environment },
      input instanceof Readable ? input : Readable.from([input]),
    );
  return {
    database,
    pathOf: (name: string): string => join(folder, name),
    dms,
    /** The output of a command that succeeds and says nothing beside it. */
    async said(args: readonly string[], input?: string | Buffer): Promise<string> {
      const { code, stdout, stderr } = await dms(args, input);
      expect([code, stderr]).toEqual([0, '']);
      return stdout;
    },
    /** The objects of a command with --json, whatever its exit code. */
    async objects(args: readonly string[], input?: string | Buffer) {
      const { stdout } = await dms([...args, '--json'], input);
      return stdout.split('\n').flatMap((line) => (line === '' ? [] : JSON.parse(line)));
    },
    /** Writes a file. @returns its path. */
    file: write,
    async stored(): Promise<StoredHistory[]> {
      const histories: StoredHistory[] = [];
      for await (const history of readHistories(database.pool)) histories.push(history);
      return histories;
    },
    rest: async (path: string) => (await service?.rest(path))?.body,
    graphql: async (query: string, variables?: object) => (await service?.graphql(query, variables))?.data,
  };
}

export type { CommandResult };
