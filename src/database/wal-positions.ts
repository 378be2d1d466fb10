/** In milliseconds: how far back positions are known. */
const KEPT_FOR = 3_600_000;

/** A position of the primary's log of changes (WAL), and when it was there, in milliseconds of the monotonic clock. */
interface Sample {
  readonly position: bigint;
  readonly first: number;
  last: number;
}

/** How far a replica is behind, in milliseconds, as far as it is known of when the primary wrote what is missing. */
export interface Lag {
  /** For how long at least there has been something that it has not replayed. */
  readonly atLeast: number;
  /** When the primary had nothing that the replica has not replayed, by the monotonic clock; null: not since positions are known. */
  readonly freshAt: number | null;
}

/**
 * Where the primary's log of changes was at each time, from which follows how far a replica is behind: neither clocks of two
 * machines are compared, nor does a replica look late because nothing is written, or because the primary is away.
 */
export class WalPositions {
  #samples: Sample[] = [];
  #server = '';

  /**
   * @param at When the position was asked for, in milliseconds of the monotonic clock.
   * @param server What changes when the server does: positions of another one say nothing of this one's.
   */
  add(at: number, position: bigint, server: string): void {
    const latest = this.#samples.at(-1);
    if (server !== this.#server || (latest !== undefined && latest.position > position)) this.#samples = [];
    this.#server = server;
    if (this.#samples.length > 0 && latest?.position === position) latest.last = at;
    else this.#samples.push({ position, first: at, last: at });
    // One older one stays: what a replica lacks of it is not known.
    while ((this.#samples[1]?.first ?? at) < at - KEPT_FOR) this.#samples.shift();
  }

  /**
   * How far a replica was behind when it told its position, or when the primary last told its own: of what that has
   * written since, nothing is known.
   *
   * @param replayed How far the replica has replayed the log.
   * @param at When it was asked.
   */
  lagOf(replayed: bigint, at: number): Lag {
    const fresh = this.#samples.findLast(({ position }) => position <= replayed);
    const missing = this.#samples.find(({ position }) => position > replayed);
    const until = Math.min(at, this.#samples.at(-1)?.last ?? at);
    return {
      atLeast: missing === undefined ? 0 : Math.max(0, until - missing.first),
      freshAt: fresh?.last ?? null,
    };
  }
}
