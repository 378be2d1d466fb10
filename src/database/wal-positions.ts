/** In milliseconds: how far back positions are known. */
const KEPT_FOR = 3_600_000;

/** Where the primary's log of changes (WAL) was, and when. */
interface Sample {
  /** In milliseconds of the monotonic clock. */
  readonly at: number;
  readonly position: bigint;
}

/**
 * Where the primary's log of changes was at each time, from which follows how far a replica is behind: neither clocks of two
 * machines are compared, nor does a replica look late because nothing is written, or because the primary is away.
 */
export class WalPositions {
  #samples: Sample[] = [];

  /** @param at When the position was asked for, in milliseconds of the monotonic clock. */
  add(at: number, position: bigint): void {
    const last = this.#samples.at(-1);
    if (last !== undefined && last.position > position) this.#samples = [];
    // Of those with one position, the first tells since when there was something to replay.
    else if (last?.position === position) return;
    this.#samples.push({ at, position });
    while ((this.#samples[0]?.at ?? at) < at - KEPT_FOR) this.#samples.shift();
  }

  /**
   * For how many milliseconds there has been something that a replica has not replayed; up to an hour is known.
   *
   * @param replayed How far the replica has replayed the log.
   * @param at When it was asked.
   */
  lagOf(replayed: bigint, at: number): number {
    const missing = this.#samples.find((sample) => sample.position > replayed && sample.at < at);
    return missing === undefined ? 0 : at - missing.at;
  }
}
