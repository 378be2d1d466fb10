import type pg from 'pg';
import { OperationError } from '../model/errors.js';
import { type Migration, tablesAfter } from './migration-files.js';

/** The table that records which migrations a database has had. */
export const MIGRATION_TABLE = 'schema_migration';

/** What a database says of its schema. */
export interface SchemaState {
  /** Checksums of the migrations that were applied, by name; null where none was ever recorded. */
  readonly recorded: ReadonlyMap<string, string> | null;
  /** The tables of the schema that unqualified names mean. */
  readonly tables: ReadonlySet<string>;
}

/** Reads the state. Without the lock of migrate() the two parts may come from before and after another's. */
export async function readSchemaState(database: pg.Pool | pg.PoolClient): Promise<SchemaState> {
  const { rows } = await database.query<{ name: string }>(
    'SELECT tablename::text AS name FROM pg_tables WHERE schemaname = current_schema()',
  );
  const tables = new Set(rows.map(({ name }) => name));
  return { tables, recorded: tables.has(MIGRATION_TABLE) ? await readRecorded(database) : null };
}

async function readRecorded(database: pg.Pool | pg.PoolClient): Promise<ReadonlyMap<string, string>> {
  const { rows } = await database.query<{ name: string; checksum: string }>(
    `SELECT name, checksum FROM ${MIGRATION_TABLE}`,
  );
  return new Map(rows.map(({ name, checksum }) => [name, checksum]));
}

/**
 * The migrations that the database still needs, in their order.
 *
 * @throws OperationError where the database is newer than the program, or half migrated, or holds tables
 *   of the same names that are not the program's.
 */
export function pendingMigrations(
  migrations: readonly Migration[],
  { recorded, tables }: SchemaState,
): readonly Migration[] {
  if (recorded === null || recorded.size === 0) {
    refuseForeignTables(migrations, tables);
    return migrations;
  }
  refuseNewer(migrations, recorded);
  const applied = migrations.filter(({ name }) => recorded.has(name));
  refuseGap(migrations, applied);
  refuseChanged(applied, recorded);
  refuseMissingTables(applied, tables);
  return migrations.slice(applied.length);
}

function refuseForeignTables(migrations: readonly Migration[], tables: ReadonlySet<string>): void {
  const [found] = [...tablesAfter(migrations)].filter((table) => tables.has(table));
  if (found === undefined) return;
  throw new OperationError(
    `The database has a table ${found}, but no record that this program made it. Use an empty database, or restore this one from a backup.`,
  );
}

function refuseNewer(migrations: readonly Migration[], recorded: ReadonlyMap<string, string>): void {
  const known = new Set(migrations.map(({ name }) => name));
  const [unknown] = [...recorded.keys()].filter((name) => !known.has(name)).sort();
  if (unknown === undefined) return;
  throw new OperationError(
    `The database is newer than this program, which does not know its migration ${unknown}. Run the version that made it, or a later one.`,
  );
}

function refuseGap(migrations: readonly Migration[], applied: readonly Migration[]): void {
  const missing = migrations.find((migration, place) => applied[place] !== migration);
  const last = applied.at(-1);
  if (missing === undefined || last === undefined || missing.name > last.name) return;
  throw halfMigrated(`it has had migration ${last.name}, but not ${missing.name}`);
}

function refuseChanged(applied: readonly Migration[], recorded: ReadonlyMap<string, string>): void {
  const changed = applied.find(({ name, checksum }) => recorded.get(name) !== checksum);
  if (changed === undefined) return;
  throw new OperationError(
    `Migration ${changed.name} is not the one that the database has had: its file was changed since, or the database was made by another program. Run the version that made it, or restore the file.`,
  );
}

function refuseMissingTables(applied: readonly Migration[], tables: ReadonlySet<string>): void {
  const [missing] = [...tablesAfter(applied)].filter((table) => !tables.has(table));
  const last = applied.at(-1);
  if (missing === undefined || last === undefined) return;
  throw halfMigrated(`it has had migration ${last.name}, but has no table ${missing}`);
}

function halfMigrated(how: string): OperationError {
  return new OperationError(
    `The database is half migrated: ${how}. Restore it from a backup, or use an empty database.`,
  );
}
