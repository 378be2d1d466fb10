import pLimit, { type LimitFunction } from 'p-limit';
import { BATCH_SIZE } from './domain-row.js';

/** Who waits for what is loaded: the Caller of a request. */
export interface Reader {
  /** Destroyed once it is gone. */
  readonly signal: { readonly destroyed: boolean };
  /** Set here: how many keys it has loaded, and what further ones wait in. */
  keys?: number;
  turns?: LimitFunction;
}

/** A request loads eight keys at a time, after its first: others need not wait for all of a long list. */
export function paced<Value>(reader: Reader, load: () => Promise<Value>): Promise<Value> {
  reader.keys = (reader.keys ?? 0) + 1;
  // To make the library's queue takes 10 µs, and most requests have a key or two.
  if (reader.keys <= BATCH_SIZE) return load();
  reader.turns ??= pLimit(BATCH_SIZE);
  return reader.turns(load);
}
