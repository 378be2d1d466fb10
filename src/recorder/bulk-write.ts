import type { PoolClient, QueryConfig } from 'pg';

/** Columns of a table: each with its type, and its value in a row. */
export type Columns<Row> = readonly (readonly [name: string, type: string, read: (row: Row) => unknown])[];

/** A statement that writes rows. @param rows What it selects them from, named `new`. */
export type WriteRows = (rows: string) => string;

/**
 * The database's clock, in microseconds: one clock for all processes that record. It is STABLE, so that it has one
 * value within a statement, and may be used to update sharded tables.
 */
export const DATABASE_NOW = '(extract(epoch FROM statement_timestamp()) * 1000000)::bigint';

/**
 * A statement for rows of any number; none of no rows. A column is one parameter: an array, or the value that all rows have,
 * which for half of the columns takes a third of the time off both sides.
 */
export function writing<Row>(
  statement: WriteRows,
  columns: Columns<Row>,
  rows: readonly Row[],
): QueryConfig[] {
  if (rows.length === 0) return [];
  const values: unknown[] = [];
  const arrays: string[] = [];
  const varying: string[] = [];
  const selected = columns.map(([name, type, read]) => {
    const literals = rows.map((row) => literalOf(read(row)));
    const isConstant = arrays.length > 0 && literals.every((literal) => literal === literals[0]);
    const parameter = `$${values.push(isConstant ? literals[0] : arrayOf(literals))}::${type}`;
    if (isConstant) return `${parameter} AS ${name}`;
    arrays.push(`${parameter}[]`);
    varying.push(name);
    return name;
  });
  const text = statement(`(SELECT ${selected} FROM unnest(${arrays}) AS varying (${varying})) AS new`);
  return [{ text, values }];
}

/** Runs `writing()`, and returns the rows that it does. */
export async function write<Row, Result extends object>(
  client: PoolClient,
  ...of: Parameters<typeof writing<Row>>
): Promise<Result[]> {
  const results = await Promise.all(writing(...of).map((statement) => client.query<Result>(statement)));
  return results.flatMap(({ rows }) => rows);
}

function literalOf(value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : (value ?? null);
}

/**
 * An array as PostgreSQL reads it (8.15.2), a quarter of the time that the driver takes: JSON quotes `"` and `\` alike, and
 * only control characters otherwise. With what may be one, the array is left to the driver.
 */
function arrayOf(values: readonly unknown[]): unknown {
  const json = JSON.stringify(values);
  return MAY_BE_CONTROL.test(json) ? values : `{${json.slice(1, -1)}}`;
}

const MAY_BE_CONTROL = /\\[bfnrtu]/;

export function insertInto<Row>(table: string, columns: Columns<Row>): WriteRows {
  return (rows) => `INSERT INTO ${table} (${namesOf(columns)}) SELECT * FROM ${rows}`;
}

export function namesOf<Row>(columns: Columns<Row>): string {
  return columns.map(([name]) => name).join(', ');
}
