/**
 * Tells once, to whoever waits, that it is over. An AbortSignal says the same, but a listener on one costs
 * as much as the rest of a question, and every question that waits for its turn needs a listener.
 */
export class Stop {
  readonly #listeners = new Set<() => void>();
  #isStopped = false;

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Calls all listeners; from then on none is called. */
  stop(): void {
    this.#isStopped = true;
    for (const listener of this.#listeners) listener();
    this.#listeners.clear();
  }

  /** @param listener Is called once, when it is stopped; not if it has been. forget() must follow. */
  listen(listener: () => void): void {
    if (!this.#isStopped) this.#listeners.add(listener);
  }

  /** The listener is not called any more. */
  forget(listener: () => void): void {
    this.#listeners.delete(listener);
  }
}
