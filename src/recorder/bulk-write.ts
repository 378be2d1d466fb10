import type { Pool, PoolClient, QueryConfig } from 'pg';

/** Each with its type, and its value in a row. */
export type Columns<Row> = readonly (readonly [name: string, type: string, read: (row: Row) => unknown])[];

export type WriteRows = (rows: NewRows) => string;

interface NewRows {
  /** What they are selected from, named `new`. */
  readonly from: string;
  /** The value of a column, to be written: one parameter where all rows have the same. */
  readonly value: (column: string) => string;
  /**
   * The value of a column, to be compared. It differs from row to row for all that the planner knows: of one
   * value for all rows, it would take an index of its own, and read the whole table.
   */
  readonly key: (column: string) => string;
  readonly values: () => string;
  /** The first column of all rows, the domain: a statement on partitions or shards needs only theirs. */
  readonly keys: string;
}

/**
 * The database's clock, in microseconds: one for all processes that record. It is STABLE: it has one value within
 * a statement, and may be used to update sharded tables.
 */
export const DATABASE_NOW = '(extract(epoch FROM statement_timestamp()) * 1000000)::bigint';

/**
 * One statement, or none for no rows. Each column is one parameter: an array, or the value that all rows have,
 * as half of the columns do. Sent once, it saves a third of the time that they take here and, indexes apart, in
 * the database.
 */
export function statementsFor<Row>(
  statement: WriteRows,
  columns: Columns<Row>,
  rows: readonly Row[],
): QueryConfig[] {
  if (rows.length === 0) return [];
  const parameters: unknown[] = [];
  const parameter = (value: unknown, type: string) => `$${parameters.push(value)}::${type}`;
  // A parameter that the statement does not have would have no type: only those that it asks for are given.
  const [arrays, constants] = [new Map<string, string>(), new Map<string, string>()];
  const refer = (name: string, isCompared: boolean): string => {
    const [, type, read] = columns.find(([each]) => each === name) ?? MISSING;
    const known = constants.get(name);
    if (known !== undefined && !isCompared) return known;
    if (arrays.has(name)) return `new.${name}`;
    const literals: Literal[] = [];
    let isVarying = isCompared;
    for (const row of rows) {
      const literal = literalOf(read(row));
      isVarying ||= literals.length > 0 && literal !== literals[0];
      literals.push(literal);
    }
    if (isVarying) {
      arrays.set(name, parameter(arrayOf(literals), `${type}[]`));
      return `new.${name}`;
    }
    const constant = parameter(literals[0], type);
    constants.set(name, constant);
    return constant;
  };
  const value = (column: string) => refer(column, false);
  const key = (column: string) => refer(column, true);
  for (const first of namesOf(columns).slice(0, 1)) key(first);
  const [keys = ''] = arrays.values();
  const values = () => namesOf(columns).map(value).join(', ');
  const text = statement({ from: FROM, value, key, values, keys });
  const from = `unnest(${[...arrays.values()]}) AS new (${[...arrays.keys()]})`;
  return [{ text: text.replace(FROM, () => from), values: parameters }];
}

const MISSING = ['', 'text', () => null] as const;

/** In the place of what rows are selected from, until it is known which columns are. */
const FROM = '{from}';

export async function write<Row, Result extends object>(
  client: Pool | PoolClient,
  statement: WriteRows,
  columns: Columns<Row>,
  rows: readonly Row[],
): Promise<Result[]> {
  const statements = statementsFor(statement, columns, rows);
  const results = await Promise.all(statements.map((each) => client.query<Result>(each)));
  return results.flatMap(({ rows }) => rows);
}

type Literal = string | number | boolean | null;

function literalOf(value: unknown): Literal {
  if (value === undefined || value === null) return null;
  return typeof value === 'number' || typeof value === 'boolean' ? value : String(value);
}

/**
 * The text of an array (PostgreSQL, 8.15.2), in a quarter of the time that the driver takes: JSON quotes `"`
 * and `\` alike. Where it may have escaped something else, each element is quoted here.
 */
function arrayOf(literals: readonly Literal[]): string {
  const json = JSON.stringify(literals);
  if (!MAY_BE_CONTROL.test(json)) return `{${json.slice(1, -1)}}`;
  return `{${literals.map((literal) => (literal === null ? 'NULL' : `"${String(literal).replace(/["\\]/g, '\\$&')}"`))}}`;
}

const MAY_BE_CONTROL = /\\[bfnrtu]/;

export function insertInto<Row>(table: string, columns: Columns<Row>): WriteRows {
  return ({ from, values }) => `INSERT INTO ${table} (${namesOf(columns)}) SELECT ${values()} FROM ${from}`;
}

export function namesOf<Row>(columns: Columns<Row>): string[] {
  return columns.map(([name]) => name);
}
