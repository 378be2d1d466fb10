import type { Instant } from '../model/instant.js';

/**
 * A history travels by columns, a text or an array for each field of all its rows: that is half as long
 * as an object for each row, and PostgreSQL writes it faster. Commas join the texts: none of what is
 * joined (times, types, classes, names of header fields) can hold one.
 */
export function splitColumn(joined: string): readonly string[] {
  return joined.split(',');
}

/** A column of times: microseconds since the Unix epoch in decimal digits, since JSON has no such number. */
export function splitInstants(joined: string): readonly Instant[] {
  return splitColumn(joined).map(BigInt);
}

/**
 * The value of a column in a row.
 *
 * @throws Error where the column is too short: what is stored breaks a rule of the recorder.
 */
export function cell<Value>(column: readonly Value[], row: number): Value {
  const value = column[row];
  if (value === undefined) throw new Error('The columns of a history differ in length.');
  return value;
}
