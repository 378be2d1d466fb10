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
  /** The oldest migration whose programs keep working after this one; null: only programs that know this one do. */
  readonly worksSince: string | null;
}

/** How a migration declares it, in the first line of its SQL. CONTRIBUTING.md has the rule. */
const DECLARATION = /^-- Works with programs since: (\w+)\n/;

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
  const worksSince = DECLARATION.exec(sql)?.[1] ?? null;
  return { name, sql, checksum: createHash('sha256').update(sql).digest('hex'), worksSince };
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

/** Reads what is recorded, also where there is no column `works_since` yet (migration 0019). */
export const READ_RECORDED = `
  SELECT name, checksum, to_jsonb(migration) ->> 'works_since' AS "worksSince" FROM ${MIGRATION_TABLE} AS migration`;

/** A migration that was applied. */
export type RecordedMigration = Omit<Migration, 'sql'>;

/** What a database records of its schema. */
interface SchemaState {
  /** The migrations that were applied. */
  readonly recorded: readonly RecordedMigration[];
  /** The tables of the schema that unqualified names refer to. */
  readonly tables: ReadonlySet<string>;
}

/** Reads the state. Without the lock of migrate() its two parts may be from before and after another process's. */
export async function readSchemaState(database: pg.Pool | pg.PoolClient): Promise<SchemaState> {
  const found = await database.query<{ name: string }>(
    'SELECT tablename::text AS name FROM pg_tables WHERE schemaname = current_schema()',
  );
  const tables = new Set(found.rows.map(({ name }) => name));
  if (!tables.has(MIGRATION_TABLE)) return { tables, recorded: [] };
  return { tables, recorded: (await database.query<RecordedMigration>(READ_RECORDED)).rows };
}

/** By name, the checksum of a text in whose place there is another with the same outcome. */
const REPLACED: ReadonlyMap<string, string> = new Map([
  ['0014_names_texts_and_feed', 'ca89a5e219f1079d022ea7542eb02ea67ce1ca50ef916456bea4b014ea323e4c'],
]);

function isUnchanged({ name, checksum }: Migration, recorded: string | undefined): boolean {
  return recorded !== undefined && (recorded === checksum || recorded === REPLACED.get(name));
}

/** Whether a program with these migrations works on a database with those, as it is. */
export function worksWith(migrations: readonly Migration[], recorded: readonly RecordedMigration[]): boolean {
  const checksums = new Map(recorded.map(({ name, checksum }) => [name, checksum]));
  return (
    migrations.every((migration) => isUnchanged(migration, checksums.get(migration.name))) &&
    unknownOf(migrations, recorded).every((unknown) => isCompatible(migrations, unknown))
  );
}

/** The recorded migrations that a program does not know, in their order. */
function unknownOf(
  migrations: readonly Migration[],
  recorded: readonly RecordedMigration[],
): RecordedMigration[] {
  const known = new Set(migrations.map(({ name }) => name));
  return recorded
    .filter(({ name }) => !known.has(name))
    .sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** Whether a program with these migrations keeps working after one that it does not know: a later one that says so. */
function isCompatible(migrations: readonly Migration[], { name, worksSince }: RecordedMigration): boolean {
  const latest = migrations.at(-1)?.name ?? '';
  return name > latest && worksSince !== null && worksSince <= latest;
}

/**
 * The migrations that the database still needs, in their order: none where a later version has applied all of them, and others
 * with which this one works.
 *
 * @throws OperationError if the database is newer than the program works with, or half migrated, or has tables of the same
 *   names that the program did not make.
 */
export function pendingMigrations(
  migrations: readonly Migration[],
  state: SchemaState,
): readonly Migration[] {
  const recorded = new Set(state.recorded.map(({ name }) => name));
  const applied = migrations.filter(({ name }) => recorded.has(name));
  const problem = recorded.size === 0 ? foreign(migrations, state) : misfit(migrations, applied, state);
  if (problem !== null) throw new OperationError(problem);
  return migrations.slice(applied.length);
}

function foreign(migrations: readonly Migration[], { tables }: SchemaState): string | null {
  const found = [...tablesAfter(migrations)].find((table) => tables.has(table));
  if (found === undefined) return null;
  return `The database has a table ${found}, but no record that this program made it. Use an empty database, or restore this one from a backup.`;
}

function misfit(
  migrations: readonly Migration[],
  applied: readonly Migration[],
  { recorded, tables }: SchemaState,
): string | null {
  const unknown = unknownOf(migrations, recorded);
  const incompatible = unknown.find((migration) => !isCompatible(migrations, migration));
  if (incompatible !== undefined) {
    return `The database is newer than this program, which does not know its migration ${incompatible.name}. Run the version that made it, or a later one.`;
  }
  const last = unknown.at(-1) ?? applied.at(-1);
  const halfMigrated = (lack: string) =>
    `The database is half migrated: migration ${last?.name} was applied, but ${lack}. Restore it from a backup, or use an empty database.`;
  const skipped = migrations
    .slice(0, unknown.length > 0 ? migrations.length : applied.length)
    .find((migration, place) => applied[place] !== migration);
  if (skipped !== undefined) return halfMigrated(`not ${skipped.name}`);
  const checksums = new Map(recorded.map(({ name, checksum }) => [name, checksum]));
  const changed = applied.find((migration) => !isUnchanged(migration, checksums.get(migration.name)));
  if (changed !== undefined) {
    return `Migration ${changed.name} is not the one that was applied: its file was changed since, or the database was made by another program. Run the version that made it, or restore the file.`;
  }
  const missing = [...tablesAfter(applied)].find((table) => !tables.has(table));
  return missing === undefined ? null : halfMigrated(`there is no table ${missing}`);
}
