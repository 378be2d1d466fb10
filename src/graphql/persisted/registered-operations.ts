import { SizedCache } from '../../model/sized-cache.js';
import { KEY_PREFIX, type PersistedOperations } from './persisted-operations.js';

/** What the documents that clients register may take of the memory together, in bytes. */
const MOST_BYTES = 5_000_000;
/** A character takes two bytes at most, and an entry of a map some hundred. */
const BYTES_OF_CHARACTER = 2;
const BYTES_OF_ENTRY = 300;

/** Automatic persisted queries: what clients have sent once, with its SHA-256, for as long as there is room. */
export class RegisteredOperations implements PersistedOperations {
  readonly #sources = new SizedCache<string, string>(MOST_BYTES);

  find(id: string): string | undefined {
    return this.#sources.get(KEY_PREFIX + id);
  }

  allows(): boolean {
    return true;
  }

  async get(key: string): Promise<string | undefined> {
    return this.#sources.get(key);
  }

  async set(key: string, source: string): Promise<void> {
    this.#sources.set(key, source, source.length * BYTES_OF_CHARACTER + BYTES_OF_ENTRY);
  }

  async delete(key: string): Promise<boolean> {
    return this.#sources.delete(key);
  }
}
