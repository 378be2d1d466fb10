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

const TABLE_CHANGE =
  /(?:^|;)\s*(?:(CREATE|DROP)\s+(?:UNLOGGED\s+)?TABLE\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?"?(\w+)"?|ALTER\s+TABLE\s+"?(\w+)"?\s+RENAME\s+TO\s+"?(\w+)"?)/gim;

/** The tables that exist once the migrations, which name them without a schema, have been applied. */
function tablesAfter(migrations: readonly Migration[]): ReadonlySet<string> {
  const tables = new Set<string>();
  for (const { sql } of migrations) {
    for (const [, verb, table = '', before = '', after] of sql.matchAll(TABLE_CHANGE)) {
      if (after !== undefined) {
        tables.delete(before);
        tables.add(after);
      } else if (verb?.toUpperCase() === 'CREATE') tables.add(table);
      else tables.delete(table);
    }
  }
  return tables;
}

/** The table that records which migrations were applied. */
export const MIGRATION_TABLE = 'schema_migration';

/** What a database records of its schema. */
export interface SchemaState {
  /** Checksums of the migrations that were applied, by name; null if there is no record. */
  readonly recorded: ReadonlyMap<string, string> | null;
  /** The tables of the schema that unqualified names refer to. */
  readonly tables: ReadonlySet<string>;
}

/** Reads the state. Without the lock of migrate() its two parts may be from before and after another process's. */
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
 * @throws OperationError if the database is newer than the program, or half migrated, or has tables of the same
 *   names that the program did not make.
 */
export function pendingMigrations(
  migrations: readonly Migration[],
  { recorded, tables }: SchemaState,
): readonly Migration[] {
  if (recorded === null || recorded.size === 0) {
    rejectForeignTables(migrations, tables);
    return migrations;
  }
  rejectNewer(migrations, recorded);
  const applied = migrations.filter(({ name }) => recorded.has(name));
  rejectGap(migrations, applied);
  rejectChanged(applied, recorded);
  rejectMissingTables(applied, tables);
  return migrations.slice(applied.length);
}

function rejectForeignTables(migrations: readonly Migration[], tables: ReadonlySet<string>): void {
  const [found] = [...tablesAfter(migrations)].filter((table) => tables.has(table));
  if (found === undefined) return;
  throw new OperationError(
    `The database has a table ${found}, but no record that this program made it. Use an empty database, or restore this one from a backup.`,
  );
}

function rejectNewer(migrations: readonly Migration[], recorded: ReadonlyMap<string, string>): void {
  const known = new Set(migrations.map(({ name }) => name));
  const [unknown] = [...recorded.keys()].filter((name) => !known.has(name)).sort();
  if (unknown === undefined) return;
  throw new OperationError(
    `The database is newer than this program, which does not know its migration ${unknown}. Run the version that made it, or a later one.`,
  );
}

function rejectGap(migrations: readonly Migration[], applied: readonly Migration[]): void {
  const missing = migrations.find((migration, place) => applied[place] !== migration);
  const last = applied.at(-1);
  if (missing === undefined || last === undefined || missing.name > last.name) return;
  throw halfMigrated(`migration ${last.name} was applied, but not ${missing.name}`);
}

function rejectChanged(applied: readonly Migration[], recorded: ReadonlyMap<string, string>): void {
  const changed = applied.find(({ name, checksum }) => recorded.get(name) !== checksum);
  if (changed === undefined) return;
  throw new OperationError(
    `Migration ${changed.name} is not the one that was applied: its file was changed since, or the database was made by another program. Run the version that made it, or restore the file.`,
  );
}

function rejectMissingTables(applied: readonly Migration[], tables: ReadonlySet<string>): void {
  const [missing] = [...tablesAfter(applied)].filter((table) => !tables.has(table));
  const last = applied.at(-1);
  if (missing === undefined || last === undefined) return;
  throw halfMigrated(`migration ${last.name} was applied, but there is no table ${missing}`);
}

function halfMigrated(how: string): OperationError {
  return new OperationError(
    `The database is half migrated: ${how}. Restore it from a backup, or use an empty database.`,
  );
}
