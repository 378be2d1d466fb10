import { memoized } from './memoized.js';
import type { RdataValue } from './rdata-codec.js';
import { rdataFields } from './rdata-types.js';
import { compareUtf8 } from './utf8-order.js';

/** The own fields of a record's `rdata` by their names, in the order of the specification. */
export function parseRdata(rdata: string): Readonly<Record<string, RdataValue>> {
  return JSON.parse(rdata);
}

const memoizedValues = memoized(parseRdata, 4096);

/**
 * Compares the own fields of two records of one type, in their order, for sort(): numbers as numbers, texts by
 * their UTF-8 bytes, lists element by element. 0 only for equal fields.
 */
export function compareRdata(type: string, a: string, b: string): number {
  if (a === b) return 0;
  const fields = rdataFields(type);
  // Most records have one text, without escapes: it ends before `"}`, and need not be parsed.
  if (fields.length === 1 && !a.includes('\\') && !b.includes('\\')) {
    return compareUtf8(a, b, 2);
  }
  const left = memoizedValues(a);
  const right = memoizedValues(b);
  for (const { name } of fields) {
    const order = compareValues(left[name], right[name]);
    if (order !== 0) return order;
  }
  // Rdata that was stored as text before its type had fields.
  return compareUtf8(a, b);
}

function compareValues(a: RdataValue | undefined, b: RdataValue | undefined): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (typeof a === 'string' && typeof b === 'string') return compareUtf8(a, b);
  if (!(Array.isArray(a) && Array.isArray(b))) return 0;
  const place = a.findIndex((text, at) => text !== b[at]);
  if (place === -1 || place >= b.length) return a.length - b.length;
  return compareUtf8(a[place], b[place]);
}
