import type { Observation } from '../model/observation.js';
import type { Recording } from '../recorder/recorder.js';

/** More domains than these are not told apart, so that the count does not fill the memory. */
const MOST_DOMAINS_COUNTED = 1_000_000;

/** The counts of an import, from its first line to its last. */
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
  /** Of the stale ones, those of domains that this import has recorded first: they came in the wrong order, and are lost. */
  lost = 0;
  newDomains = 0;
  recordsAdded = 0;
  recordsRemoved = 0;
  headersCreated = 0;
  headersUpdated = 0;
  /** What lines could not tell, and of how many lines that is true. */
  readonly remarks = new Map<string, number>();
  readonly #names = new Set<string>();
  readonly #newNames = new Set<string>();

  add(batch: readonly Observation[], recording: Recording): void {
    for (const name of recording.newNames) {
      if (this.#newNames.size < MOST_DOMAINS_COUNTED) this.#newNames.add(name);
    }
    for (const [at, { kind, contradicts, precedes }] of recording.outcomes.entries()) {
      this[kind] += 1;
      this.contradicting += contradicts ? 1 : 0;
      const isNew = this.#newNames.has(batch[at]?.domain ?? '');
      if (kind === 'stale' && isNew) this.lost += 1;
      else if (precedes) this.older += 1;
    }
    this.newDomains += recording.newDomains;
    this.recordsAdded += recording.recordsAdded;
    this.recordsRemoved += recording.recordsRemoved;
    this.headersCreated += recording.headersCreated;
    this.headersUpdated += recording.headersUpdated;
    for (const { domain } of batch) {
      if (this.#names.size < MOST_DOMAINS_COUNTED) this.#names.add(domain);
    }
  }

  addRemarks(remarks: readonly string[]): void {
    for (const remark of remarks) this.remarks.set(remark, (this.remarks.get(remark) ?? 0) + 1);
  }

  /** Observations that were recorded, with a change or without. */
  get recorded(): number {
    return this.changed + this.unchanged;
  }

  /** How many domains the observations were of. */
  get domains(): { readonly count: number; readonly exact: boolean } {
    return { count: this.#names.size, exact: this.#names.size < MOST_DOMAINS_COUNTED };
  }
}
