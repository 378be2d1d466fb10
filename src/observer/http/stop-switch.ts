/**
 * Says to the one step that an observation is in that it is to end. An observation is in one step at a
 * time, so there is one listener, and an abort signal that thousands share gets one each.
 */
export class StopSwitch {
  #stopped = false;
  #listener: (() => void) | undefined;

  get stopped(): boolean {
    return this.#stopped;
  }

  /** Sets who is told of a stop that is still to come; undefined: nobody. */
  set listener(listener: (() => void) | undefined) {
    this.#listener = listener;
  }

  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#listener?.();
  }
}
