import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, beforeEach, expect } from 'vitest';
import type { Settings } from '../../src/config/settings.js';
import type { StoredHistory } from '../../src/history/stored-history.js';
import { readHistories } from '../../src/recorder/read-histories.js';
import { type CommandResult, runDms } from '../journeys/dms-command.js';
import { graphqlRequest } from './ask.js';
import { emptyTestDatabase, openTestDatabase, type TestDatabase } from './database.js';
import { startTestService, type TestService } from './service.js';

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
  let database: TestDatabase;
  let service: TestService | undefined;
  let folder: string;
  beforeAll(async () => {
    database = await openTestDatabase();
    folder = await mkdtemp(join(tmpdir(), 'dms-test-'));
    if (served !== undefined) service = await startTestService({ database, ...served });
  });
  if (emptied) beforeEach(() => emptyTestDatabase(database));
  afterAll(async () => {
    await service?.stop();
    await database.close();
    await rm(folder, { recursive: true });
  });

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
    get database(): TestDatabase {
      return database;
    },
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
    async file(name: string, content: string | Buffer): Promise<string> {
      const path = join(folder, name);
      await writeFile(path, content);
      return path;
    },
    async stored(): Promise<StoredHistory[]> {
      const histories: StoredHistory[] = [];
      for await (const history of readHistories(database.pool)) histories.push(history);
      return histories;
    },
    async rest(path: string) {
      const response = await fetch(`${service?.url}/api/v1${path}`);
      return JSON.parse(await response.text());
    },
    async graphql(query: string, variables: object = {}) {
      const response = await fetch(`${service?.url}/graphql`, graphqlRequest(query, variables));
      return JSON.parse(await response.text()).data;
    },
  };
}

export type { CommandResult };
