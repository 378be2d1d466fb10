/** From one trial of an open breaker to the next, in milliseconds. */
const TRIAL_INTERVAL = 30_000;

/**
 * Keeps requests from an endpoint that does not respond. After a number of timeouts in a row the breaker is
 * open: one request in each half minute is let through as a trial, and the first response closes it.
 */
export class CircuitBreaker {
  readonly #threshold: number;
  #timeouts = 0;
  #latestResponse = Number.NEGATIVE_INFINITY;
  #nextTrial = 0;

  /** @param threshold Timeouts in a row that open it. */
  constructor(threshold: number) {
    this.#threshold = threshold;
  }

  get isOpen(): boolean {
    return this.#timeouts >= this.#threshold;
  }

  allows(): boolean {
    if (!this.isOpen) return true;
    const now = performance.now();
    if (now < this.#nextTrial) return false;
    this.#nextTrial = now + TRIAL_INTERVAL;
    return true;
  }

  /** Closes the breaker, whatever the response says. */
  recordResponse(): void {
    this.#latestResponse = performance.now();
    this.#timeouts = 0;
  }

  /**
   * A timeout does not count if another request had a response since this one was sent.
   *
   * @param sent By performance.now().
   */
  recordTimeout(sent: number): void {
    if (this.#latestResponse >= sent) return;
    this.#timeouts += 1;
    this.#nextTrial = performance.now() + TRIAL_INTERVAL;
  }
}
