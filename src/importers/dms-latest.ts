import type { DmsBody } from './dms-body.js';

/** About 60 MB with what the texts stand for. */
const MOST_CHARACTERS = 8_000_000;

interface LatestLine {
  /** The domain's canonical name. */
  readonly domain: string;
  /** The line's text after its time. */
  readonly text: string;
  readonly body: DmsBody;
}

/**
 * The latest line of each domain. A domain's next line nearly always says the same at another time, and
 * comparing texts costs a fraction of parsing them. It forgets everything when it is full.
 */
export class LatestLines {
  readonly #lines = new Map<string, LatestLine>();
  #characters = 0;

  /** @param name The domain as the line names it. */
  get(name: string, text: string): LatestLine | undefined {
    const latest = this.#lines.get(name);
    return latest?.text === text ? latest : undefined;
  }

  set(name: string, line: LatestLine): void {
    if (this.#characters + line.text.length > MOST_CHARACTERS) {
      this.#lines.clear();
      this.#characters = 0;
    }
    this.#characters += line.text.length - (this.#lines.get(name)?.text.length ?? 0);
    this.#lines.set(name, line);
  }
}
