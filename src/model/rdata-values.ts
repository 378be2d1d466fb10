import { memoized } from './memoized.js';
import type { RdataValue } from './rdata-codec.js';
import { type RdataField, rdataFields } from './rdata-types.js';
import { compareUnits, compareUtf8, firstDifference } from './utf8-order.js';

/** The own fields of a record's `rdata` by their names, in the order of the specification. */
export function parseRdata(rdata: string): Readonly<Record<string, RdataValue>> {
  return JSON.parse(rdata);
}

const memoizedValues = memoized(parseRdata, 4096);

/**
 * Compares the own fields of two records of one type, in their order, for sort(): numbers as numbers, texts by their
 * UTF-8 bytes, lists element by element. 0 only for equal fields.
 */
export function compareRdata(type: string, a: string, b: string): number {
  if (a === b) return 0;
  const fields = rdataFields(type);
  const order = fields.length === 1 ? compareSingleTexts(a, b) : undefined;
  return order ?? compareFields(fields, a, b);
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Compares two unequal JSON objects of one and the same text member without parsing them: most records
 * are such. Undefined where an escape is at the place in which they differ.
 */
function compareSingleTexts(a: string, b: string): number | undefined {
  const at = firstDifference(a, b);
  const left = a.charCodeAt(at);
  const right = b.charCodeAt(at);
  if (left === BACKSLASH || right === BACKSLASH || a.charCodeAt(at - 1) === BACKSLASH) return undefined;
  if (left === QUOTE) return -1;
  return right === QUOTE ? 1 : compareUnits(left, right);
}

function compareFields(fields: readonly RdataField[], a: string, b: string): number {
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
  return Array.isArray(a) && Array.isArray(b) ? compareLists(a, b) : 0;
}

function compareLists(a: readonly string[], b: readonly string[]): number {
  for (const [at, text] of a.entries()) {
    const other = b[at];
    if (other === undefined) return 1;
    const order = compareUtf8(text, other);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}
