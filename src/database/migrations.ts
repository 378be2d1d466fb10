import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import type pg from 'pg';
import { OperationError } from '../model/errors.js';

/** One step of the schema: a folder of prisma/migrations with its migration.sql. */
export interface Migration {
  /** The folder's name; migrations are applied in the order of their names. */
  readonly name: string;
  readonly sql: string;
  /** SHA-256 of the SQL, in hexadecimal. */
  readonly checksum: string;
}

/** From src/ and from dist/ alike. */
const DIRECTORY = new URL('../../prisma/migrations/', import.meta.url);

/** The program's migrations, in their order. */
export async function readMigrations(directory: URL = DIRECTORY): Promise<readonly Migration[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  return Promise.all(names.sort().map((name) => readMigration(directory, name)));
}

async function readMigration(directory: URL, name: string): Promise<Migration> {
  const sql = await readFile(new URL(`${name}/migration.sql`, directory), 'utf8');
  return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
}

export const MIGRATION_TABLE = 'schema_migration';

/** The checksums of the migrations that were applied, by name. */
export type RecordedMigrations = ReadonlyMap<string, string>;

/** @throws the driver's error, where there is no table yet that of PostgreSQL (undefined_table). */
export async function readRecorded(
  database: pg.Pool | pg.PoolClient,
  limits: { readonly query_timeout?: number } = {},
): Promise<RecordedMigrations> {
  const query = { text: `SELECT name, checksum FROM ${MIGRATION_TABLE}`, ...limits };
  const { rows } = await database.query<Pick<Migration, 'name' | 'checksum'>>(query);
  return new Map(rows.map(({ name, checksum }) => [name, checksum]));
}

/**
 * Whether a program with these migrations can use the database as it is. Those of a later version may have been applied beside
 * them: they let processes of this one continue (CONTRIBUTING.md, "Migrations").
 */
export function areApplied(migrations: readonly Migration[], recorded: RecordedMigrations): boolean {
  return migrations.every(({ name, checksum }) => recorded.get(name) === checksum);
}

/**
 * The migrations that the database still needs, in their order.
 *
 * @throws OperationError if others were applied to it than the first ones of the program.
 */
export function pendingMigrations(
  migrations: readonly Migration[],
  recorded: RecordedMigrations,
): readonly Migration[] {
  const known = new Set(migrations.map(({ name }) => name));
  const unknown = [...recorded.keys()].sort().find((name) => !known.has(name));
  if (unknown !== undefined) {
    throw new OperationError(
      `The database has the migration ${unknown}, which this version of the program does not know. Run the version that applied it, or a later one: see "Upgrading" in docs/operating.md.`,
    );
  }
  const other = migrations
    .slice(0, recorded.size)
    .find(({ name, checksum }) => recorded.get(name) !== checksum);
  if (other !== undefined) {
    throw new OperationError(
      `The database does not have migration ${other.name} as this program has it: the file was changed or added after later ones were applied. Run the version of the program that migrated the database, or restore its files.`,
    );
  }
  return migrations.slice(recorded.size);
}
