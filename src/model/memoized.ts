/** Longer texts are computed each time, so that a full cache stays small. */
const MAX_KEY_LENGTH = 255;

/**
 * Equal results become one and the same string, so that later comparisons are fast. What is thrown is not kept.
 *
 * A full cache is emptied: for every record that is imported, that costs less than the order of use that
 * lru-cache keeps (a hit 20 ns for 75, a miss 430 for 770).
 */
export function memoized<Key extends string | number, Value extends string | object>(
  compute: (key: Key) => Value,
  limit = 16_384,
): (key: Key) => Value {
  const results = new Map<Key, Value>();
  return (key) => {
    const known = results.get(key);
    if (known !== undefined) return known;
    const value = compute(key);
    if (typeof key === 'string' && key.length > MAX_KEY_LENGTH) return value;
    if (results.size >= limit) results.clear();
    results.set(key, value);
    return value;
  };
}
