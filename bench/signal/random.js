/** Random numbers of a seed (mulberry32), so that a run can be repeated. */
export class Random {
  #state;

  /** @param {number} seed */
  constructor(seed) {
    this.#state = seed >>> 0;
  }

  /** From 0 up to 1. */
  next() {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** @param {number} least @param {number} most */
  integer(least, most) {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  /** @param {number} share */
  chance(share) {
    return this.next() < share;
  }

  /** @template Item @param {readonly Item[]} items @returns {Item} */
  pick(items) {
    return /** @type {Item} */ (items[this.integer(0, items.length - 1)]);
  }

  /** @template Item @param {readonly Item[]} items @param {number} count @returns {Item[]} */
  some(items, count) {
    const left = [...items];
    return Array.from({ length: Math.min(count, left.length) }, () => {
      const [item] = left.splice(this.integer(0, left.length - 1), 1);
      return /** @type {Item} */ (item);
    });
  }

  /** Of so many characters of base64url. @param {number} length */
  token(length) {
    return Array.from({ length }, () =>
      this.pick([...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789']),
    ).join('');
  }
}
