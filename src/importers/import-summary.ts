import type { Observation } from '../model/observation.js';
import type { Recording } from '../recorder/recorder.js';

type Outcomes = Recording['outcomes'];
type Kind = Outcomes[number]['kind'];

/** The kinds of outcomes, the one first by which a line is counted that has several. */
const KINDS: readonly Kind[] = ['changed', 'unchanged', 'stale', 'repeated'];

/** More domains than these are not told apart, so that the count does not fill the memory. */
const MOST_DOMAINS_COUNTED = 1_000_000;

/** The counts of an import, of lines but for what is said otherwise, from its first line to its last. */
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
  /** Of those that are lost, those that are older than all that is recorded of a part. */
  lostOlder = 0;
  /** Recorded, but for parts of which something newer is recorded. */
  partial = 0;
  newDomains = 0;
  recordsAdded = 0;
  recordsRemoved = 0;
  headersCreated = 0;
  headersUpdated = 0;
  /** What lines could not tell, and of how many lines that is true. */
  readonly remarks = new Map<string, number>();
  /** The domains, and whether this import has recorded them first: one map, since it is most of what an import keeps in memory. */
  readonly #domains = new Map<string, boolean>();

  /** @param lines How many of the observations each line has, in their order. */
  add(lines: readonly number[], batch: readonly Observation[], recording: Recording): void {
    for (const name of recording.newNames) {
      if (this.#domains.size < MOST_DOMAINS_COUNTED) this.#domains.set(name, true);
    }
    let first = 0;
    for (const count of lines) {
      if (count > 0)
        this.#addLine(recording.outcomes.slice(first, first + count), batch[first]?.domain ?? '');
      first += count;
    }
    this.newDomains += recording.newDomains;
    this.recordsAdded += recording.recordsAdded;
    this.recordsRemoved += recording.recordsRemoved;
    this.headersCreated += recording.headersCreated;
    this.headersUpdated += recording.headersUpdated;
    for (const { domain } of batch) {
      if (this.#domains.size < MOST_DOMAINS_COUNTED && !this.#domains.has(domain))
        this.#domains.set(domain, false);
    }
  }

  #addLine(outcomes: Outcomes, domain: string): void {
    const kind = KINDS.find((each) => outcomes.some((outcome) => outcome.kind === each)) ?? 'repeated';
    const precedes = outcomes.some((outcome) => outcome.precedes);
    this[kind] += 1;
    this.contradicting += outcomes.some(({ contradicts }) => contradicts) ? 1 : 0;
    this.partial += kind !== 'stale' && outcomes.some(isLeftOut) ? 1 : 0;
    if (kind === 'stale' && this.#domains.get(domain) === true) {
      this.lost += 1;
      this.lostOlder += precedes ? 1 : 0;
    } else if (precedes) this.older += 1;
  }

  addRemarks(remarks: readonly string[]): void {
    for (const remark of remarks) this.remarks.set(remark, (this.remarks.get(remark) ?? 0) + 1);
  }

  /** Lines that were recorded, with a change or without. */
  get recorded(): number {
    return this.changed + this.unchanged;
  }

  /** How many domains the observations were of. */
  get domains(): { readonly count: number; readonly exact: boolean } {
    return { count: this.#domains.size, exact: this.#domains.size < MOST_DOMAINS_COUNTED };
  }
}

/** Whether something of an observation, or all of it, is older than what is recorded. */
function isLeftOut({ kind, isPartial }: Outcomes[number]): boolean {
  return isPartial || kind === 'stale';
}
