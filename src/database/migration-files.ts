import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';

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

/** The migrations that this program has, in their order. */
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

/** The tables that there are once the migrations, which name them without a schema, have been applied. */
export function tablesAfter(migrations: readonly Migration[]): ReadonlySet<string> {
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
