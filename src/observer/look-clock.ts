import { formatInstant, type Instant } from '../model/instant.js';

/** 2000-01-01: a machine without a battery for its clock begins at 1970. */
const EARLIEST: Instant = 946_684_800_000_000n;
/** In microseconds: a clock is adjusted now and then, and looks at once do not come in order. */
const TOLERANCE = 5_000_000n;

/** A look at a wrong time would be put before what is recorded, or be the domain's first for good. */
export class LookClock {
  #latest: Instant = EARLIEST;

  /** @returns what is wrong with the time of a look, and what to do, in sentences; null: nothing. */
  faultOf(time: Instant): string | null {
    if (time < EARLIEST) {
      return `The clock says ${formatInstant(time)}. Nothing is observed: set it, by NTP say.`;
    }
    if (time < this.#latest - TOLERANCE) {
      const said = `The clock says ${formatInstant(time)}, and said ${formatInstant(this.#latest)} before`;
      return `${said}. Nothing is observed until then: set it, by NTP say, and restart if it is right now.`;
    }
    if (time > this.#latest) this.#latest = time;
    return null;
  }
}
