import type { PoolClient } from 'pg';

/** Columns of a table: each with its type, and its value in a row. */
export type Columns<Row> = readonly (readonly [name: string, type: string, read: (row: Row) => unknown])[];

/**
 * The database's clock, in microseconds: one clock for all processes that record. It is STABLE, so that it has one
 * value within a statement, and may be used to update sharded tables.
 */
export const DATABASE_NOW = '(extract(epoch FROM statement_timestamp()) * 1000000)::bigint';

/** Runs a statement whose parameters are arrays, one for each column. */
export async function write<Row, Result extends object>(
  client: PoolClient,
  statement: string,
  columns: Columns<Row>,
  rows: readonly Row[],
): Promise<Result[]> {
  if (rows.length === 0) return [];
  const values = columns.map(([, , read]) => rows.map((row) => read(row) ?? null));
  return (await client.query<Result>(statement, values)).rows;
}

export function insertInto<Row>(table: string, columns: Columns<Row>): string {
  return `INSERT INTO ${table} (${namesOf(columns)}) SELECT * FROM ${rowsOf(columns)}`;
}

export function rowsOf<Row>(columns: Columns<Row>): string {
  const arrays = columns.map(([, type], place) => `$${place + 1}::${type}[]`);
  return `unnest(${arrays.join(', ')}) AS new (${namesOf(columns)})`;
}

export function namesOf<Row>(columns: Columns<Row>): string {
  return columns.map(([name]) => name).join(', ');
}
