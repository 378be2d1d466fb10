import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';

/** What a key has used up of its window, and when that ends, by the monotonic clock. */
interface Window {
  consumed: number;
  readonly endsAt: number;
}

/**
 * A limiter that counts in the memory of this process. The library's own, which this extends only because the library
 * exports no abstract one, takes its windows from the wall clock: where that steps back, a client is told to wait for
 * as long. What is not overridden here is not to be used.
 */
export class MemoryLimiter extends RateLimiterMemory {
  /** In the order of their ends: all are of one length. */
  readonly #windows = new Map<string, Window>();

  override async consume(key: string | number, points = 1): Promise<RateLimiterRes> {
    const result = this.#add(String(key), points);
    // The library's contract: a refusal is a rejection with the result.
    return result.consumedPoints > this.points ? Promise.reject(result) : result;
  }

  override async penalty(key: string | number, points = 1): Promise<RateLimiterRes> {
    return this.#add(String(key), points);
  }

  #add(key: string, points: number): RateLimiterRes {
    const now = performance.now();
    this.#removeEnded(now);
    const begun = this.#windows.get(key);
    const window = begun ?? { consumed: 0, endsAt: now + this.msDuration };
    if (begun === undefined) this.#windows.set(key, window);
    window.consumed += points;
    const remaining = Math.max(0, this.points - window.consumed);
    return new RateLimiterRes(remaining, window.endsAt - now, window.consumed, begun === undefined);
  }

  #removeEnded(now: number): void {
    for (const [key, { endsAt }] of this.#windows) {
      if (endsAt > now) return;
      this.#windows.delete(key);
    }
  }
}
