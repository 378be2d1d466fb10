/** Points that a client consumes of a limit. */
export interface Consumption {
  /** The name of the limit, and the client's key in it. */
  readonly limit: string;
  readonly key: string;
  readonly points: number;
  /** How long a window of the limit is, in milliseconds. It begins with the first points. */
  readonly window: number;
}

/** What a client has consumed in its window, and in how many milliseconds that ends. */
export interface Counted {
  readonly consumed: number;
  readonly endsIn: number;
}

/** Where clients are counted. */
export interface Counts {
  count(consumption: Consumption): Counted | Promise<Counted>;
}

/** A window, and when it ends, by the monotonic clock. */
interface Window {
  consumed: number;
  readonly endsAt: number;
}

/** Counts in the memory of this process, by the monotonic clock. */
export class CountsInMemory implements Counts {
  /** By the limit. Those of one limit are in the order of their ends: all are equally long. */
  readonly #windows = new Map<string, Map<string, Window>>();

  count({ limit, key, points, window: milliseconds }: Consumption): Counted {
    const windows = this.#windows.get(limit) ?? new Map<string, Window>();
    this.#windows.set(limit, windows);
    const now = performance.now();
    for (const [ended, { endsAt }] of windows) {
      if (endsAt > now) break;
      windows.delete(ended);
    }
    const begun = windows.get(key);
    const window = begun ?? { consumed: 0, endsAt: now + milliseconds };
    if (begun === undefined) windows.set(key, window);
    window.consumed += points;
    return { consumed: window.consumed, endsIn: window.endsAt - now };
  }
}
