/**
 * A map that forgets everything when it is full. For values that can be computed again: emptying it
 * costs less than keeping track of which entry was used last.
 */
export class BoundedCache<Key, Value> {
  readonly #entries = new Map<Key, Value>();
  readonly #limit: number;

  /** @param limit How many entries it holds at most. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key);
  }

  has(key: Key): boolean {
    return this.#entries.has(key);
  }

  delete(key: Key): void {
    this.#entries.delete(key);
  }

  set(key: Key, value: Value): void {
    if (this.#entries.size >= this.#limit) this.#entries.clear();
    this.#entries.set(key, value);
  }
}

/** Longer texts are computed each time, so that a full cache stays small. */
const LONGEST_KEPT = 255;

/**
 * The same function with a memory of its latest results. It also makes equal results one and the same
 * string, which later comparisons find equal at a glance. What `compute` throws is not kept.
 *
 * @param limit How many results are kept at most.
 */
export function memoized<Value extends string | object>(
  compute: (text: string) => Value,
  limit = 16_384,
): (text: string) => Value {
  const cache = new BoundedCache<string, Value>(limit);
  return (text) => {
    const known = cache.get(text);
    if (known !== undefined) return known;
    const value = compute(text);
    if (text.length <= LONGEST_KEPT) cache.set(text, value);
    return value;
  };
}
