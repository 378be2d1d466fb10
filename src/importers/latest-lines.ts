/** About 25 MB with what the texts stand for. */
const MOST_CHARACTERS = 3_000_000;
/** More domains than these have no room for their lines anyway. */
const MOST_NAMES = 50_000;

/**
 * What the latest line of each domain was parsed to. A domain's next line nearly always says the same at another time,
 * and comparing texts costs a fraction of parsing them. A domain's first line is not kept: of many domains that come
 * once each, their names take hardly any memory. It forgets everything when it is full: lru-cache would keep no
 * more, since where more domains take turns than have room, the line used longest ago is the one that comes next.
 */
export class LatestLines<Value> {
  readonly #names = new Set<string>();
  readonly #lines = new Map<string, { readonly text: string; readonly value: Value }>();
  #characters = 0;

  /**
   * @param name The domain as the line names it.
   * @param text The line's text after its time.
   * @returns undefined where the domain's latest line is another.
   */
  get(name: string, text: string): Value | undefined {
    const latest = this.#lines.get(name);
    return latest?.text === text ? latest.value : undefined;
  }

  /** @param name is kept for longer than the line: it must not be a part of its text. */
  set(name: string, text: string, value: Value): void {
    if (!this.#names.has(name)) {
      if (this.#names.size >= MOST_NAMES) this.#names.clear();
      this.#names.add(name);
      return;
    }
    if (this.#characters + text.length > MOST_CHARACTERS) {
      this.#lines.clear();
      this.#characters = 0;
    }
    this.#characters += text.length - (this.#lines.get(name)?.text.length ?? 0);
    this.#lines.set(name, { text, value });
  }
}
