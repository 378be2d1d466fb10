/** In milliseconds: how far back positions are known. */
const KEPT_FOR = 3_600_000;

/**
 * Where the primary's log of changes (WAL) was at each time, in milliseconds of the monotonic clock. From it
 * follows how far a replica is behind: neither clocks of two machines are compared, nor does a replica look late
 * because nothing is written, or because the primary is away.
 */
export class WalPositions {
  #positions: { readonly position: bigint; readonly since: number }[] = [];
  #toldAt = Number.POSITIVE_INFINITY;
  #server = '';

  /** @param server What changes when the server does: positions of another one say nothing of this one's. */
  add(askedAt: number, position: bigint, server: string): void {
    const latest = this.#positions.at(-1)?.position ?? -1n;
    if (server !== this.#server || latest > position) this.#positions = [];
    this.#server = server;
    this.#toldAt = askedAt;
    if (this.#positions.length === 0 || latest !== position)
      this.#positions.push({ position, since: askedAt });
    // One older one stays: what a replica lacks of it is not known.
    while ((this.#positions[1]?.since ?? askedAt) < askedAt - KEPT_FOR) this.#positions.shift();
  }

  /**
   * How far a replica was behind when it told how far it has replayed the log, or when the primary last told its
   * position: of what that has written since, nothing is known.
   *
   * @returns `atLeast`: for how long, at least, there has been something that it has not replayed; `isKnown`:
   *   whether it is no longer, since the primary was once where the replica is.
   */
  lagOf(replayed: bigint, askedAt: number): { atLeast: number; isKnown: boolean } {
    const missing = this.#positions.find(({ position }) => position > replayed);
    const [first] = this.#positions;
    return {
      atLeast: missing === undefined ? 0 : Math.max(0, Math.min(askedAt, this.#toldAt) - missing.since),
      isKnown: first !== undefined && first !== missing,
    };
  }
}
