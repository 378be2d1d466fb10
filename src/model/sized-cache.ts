interface Entry<Value> {
  readonly value: Value;
  readonly size: number;
}

/** A map whose entries' sizes have a bound together. What was used longest ago is forgotten first. */
export class SizedCache<Key, Value> {
  /** The one used last is the last. */
  readonly #entries = new Map<Key, Entry<Value>>();
  readonly #limit: number;
  #size = 0;

  /** @param limit The sizes of all entries together, at most, in the unit that set() is told sizes in. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  get(key: Key): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  /** Keeps a value, unless it alone is larger than the bound. */
  set(key: Key, value: Value, size: number): void {
    this.delete(key);
    if (size > this.#limit) return;
    this.#entries.set(key, { value, size });
    this.#size += size;
    for (const oldest of this.#entries.keys()) {
      if (this.#size <= this.#limit) return;
      this.delete(oldest);
    }
  }

  /** Whether there was such an entry. */
  delete(key: Key): boolean {
    this.#size -= this.#entries.get(key)?.size ?? 0;
    return this.#entries.delete(key);
  }
}
