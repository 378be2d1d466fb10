import type { Observation } from '../model/observation.js';
import type { Recording } from '../recorder/recorder.js';
import { COUNTS } from '../recorder/write-changes.js';
import type { Remark } from './lines.js';

/** Of outcomes, the one first by which a line is counted that has several. */
const KINDS = ['changed', 'unchanged', 'stale', 'repeated'] as const;

/** Of more, others are not told apart, so that the count does not fill the memory. */
const MAX_DOMAINS_COUNTED = 1_000_000;

/** Counts of lines, but for what is said otherwise. */
export class ImportSummary {
  linesRead = 0;
  linesRejected = 0;
  changed = 0;
  unchanged = 0;
  repeated = 0;
  contradicting = 0;
  stale = 0;
  /** Those that are older than all that is recorded of a part, of domains that were recorded before. */
  older = 0;
  #olderStale = 0;
  /** Stale ones of domains that are new, older than all that is recorded of a part: they came too late. */
  #lostOlder = 0;
  /** Stale ones of domains that are new, between what is recorded: too late, too, or a second time. */
  lostBetween = 0;
  /** Recorded, but for parts of which something newer is recorded. */
  partial = 0;
  newDomains = 0;
  recordsAdded = 0;
  recordsRemoved = 0;
  headersCreated = 0;
  headersUpdated = 0;
  readonly #remarks = new Map<string, { readonly lines: number; readonly example?: string }>();
  /**
   * Of domains that this import has recorded first, the lines in `lostBetween` since the last one that
   * repeats what is recorded; null for others. One map, since it is most of what an import keeps in memory.
   */
  readonly #domains = new Map<string, number | null>();

  /** @param lines The observations of each line that has some. */
  add(lines: readonly (readonly Observation[])[], recording: Recording): void {
    const newNames = new Set(recording.newNames);
    for (const { domain } of lines.flat()) {
      if (this.#domains.has(domain) || this.#domains.size >= MAX_DOMAINS_COUNTED) continue;
      this.#domains.set(domain, newNames.has(domain) ? 0 : null);
    }
    let first = 0;
    for (const { 0: observation, length } of lines) {
      this.#addLine(recording.outcomes.slice(first, first + length), observation?.domain ?? '');
      first += length;
    }
    this.newDomains += newNames.size;
    for (const count of COUNTS) this[count] += recording[count];
  }

  #addLine(outcomes: Recording['outcomes'], domain: string): void {
    const kind = KINDS.find((each) => outcomes.some((outcome) => outcome.kind === each)) ?? 'repeated';
    const precedes = outcomes.some((outcome) => outcome.precedes);
    const contradicts = outcomes.some((outcome) => outcome.contradicts);
    const isPartial = outcomes.some((outcome) => outcome.isPartial || outcome.kind === 'stale');
    const isStale = kind === 'stale';
    this[kind] += 1;
    this.contradicting += Number(contradicts);
    this.partial += Number(!isStale && isPartial);
    const between = this.#domains.get(domain) ?? null;
    if (precedes && isStale && between !== null) this.#lostOlder += 1;
    else if (precedes) {
      this.older += 1;
      this.#olderStale += Number(isStale);
    } else if (between !== null && (isStale || (kind === 'repeated' && !contradicts))) {
      // Lines that end with the latest that is recorded come a second time: they are recorded.
      const after = isStale ? between + 1 : 0;
      this.lostBetween += after - between;
      this.#domains.set(domain, after);
    }
  }

  /** @param remarks On a line: what it says twice is about one line. */
  addRemarks(remarks: readonly Remark[] | undefined, domain?: string): void {
    if (remarks === undefined) return;
    for (const { text, example, lines = 1 } of new Map(remarks.map((each) => [each.text, each])).values()) {
      const where = domain === undefined ? '' : `${domain}: `;
      const first = { lines: 0, ...(example !== undefined && { example: where + example }) };
      const known = this.#remarks.get(text) ?? first;
      this.#remarks.set(text, { ...known, lines: known.lines + lines });
    }
  }

  get remarks() {
    return [...this.#remarks].filter(([, { lines }]) => lines > 0);
  }

  /** Lines that came in the wrong order. */
  get lost(): number {
    return this.#lostOlder + this.lostBetween;
  }

  /** Stale lines that came a second time, or lie between what was recorded before. */
  get staleAgain(): number {
    return this.stale - this.lost - this.#olderStale;
  }

  get recorded(): number {
    return this.changed + this.unchanged;
  }

  get domains(): { readonly count: number; readonly exact: boolean } {
    return { count: this.#domains.size, exact: this.#domains.size < MAX_DOMAINS_COUNTED };
  }
}
