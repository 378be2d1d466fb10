import { LRUCache } from 'lru-cache';
import type { Validators } from './validators.js';

export interface KeptBody {
  readonly validators: Validators;
  readonly octets: Buffer;
  /** Before its validators were read from the database, in milliseconds of the monotonic clock. */
  checkedAt: number;
}

export interface BodyCacheOptions {
  /** How much is kept, in megabytes; 0: nothing. */
  readonly megabytes: number;
  /** For how many seconds a kept body is used without a look at the stored state. */
  readonly seconds: number;
}

/** What an entry takes in memory besides its key and its octets, approximately. */
const OCTETS_OF_ENTRY = 500;
/** In octets: a larger body would displace many others. */
const MAX_OCTETS = 128 * 1024;

/**
 * Bodies of recent responses, for all clients. A body stands for the version in its entity tag, so an entry
 * never has to be removed: whichever process records an observation, version and entity tag are others.
 */
export class BodyCache {
  readonly #bodies: LRUCache<string, KeptBody> | undefined;
  /** The latest requests whose body was not kept. */
  readonly #requested = new LRUCache<string, true>({ max: 10_000 });
  readonly #milliseconds: number;

  constructor({ megabytes, seconds }: BodyCacheOptions) {
    this.#milliseconds = seconds * 1000;
    if (megabytes === 0) return;
    this.#bodies = new LRUCache({
      maxSize: megabytes * 1024 ** 2,
      maxEntrySize: MAX_OCTETS,
      sizeCalculation: ({ octets }, key) => key.length + octets.length + OCTETS_OF_ENTRY,
    });
  }

  /** @param key Of an operation with its variables; null, here and below: its bodies are not kept. */
  find(key: string | null): KeptBody | undefined {
    return key === null ? undefined : this.#bodies?.get(key);
  }

  /**
   * Keeps a body that is requested for the second time in a while: to keep those that are requested once takes
   * longer than it saves, and displaces others.
   */
  keep(key: string | null, body: string, validators: Validators, checkedAt: number): void {
    if (key === null || this.#bodies === undefined || body.length > MAX_OCTETS) return;
    if (this.#bodies.has(key) || this.#requested.delete(key)) {
      this.#bodies.set(key, { validators, octets: Buffer.from(body), checkedAt });
    } else this.#requested.set(key, true);
  }

  isFresh({ checkedAt }: KeptBody): boolean {
    return performance.now() - checkedAt < this.#milliseconds;
  }
}
