import { isLost } from '../database/database-failure.js';
import type { Observation } from '../model/observation.js';
import type { Recorder } from '../recorder/recorder.js';
import type { ImportSummary } from './import-summary.js';
import type { Line, ParsedLine } from './lines.js';

export interface ImportOptions {
  readonly parse: (line: Line) => ParsedLine;
  readonly recorder: Recorder;
  readonly summary: ImportSummary;
  readonly onRejected: (line: Line, reason: string) => void;
  /** Stop at the first rejected line. */
  readonly strict: boolean;
  /** Put observations before what is known, too. */
  readonly older: boolean;
  /**
   * The lines come domain by domain, in the order of time: those of a domain are recorded together, however
   * many. Older ones have to be, since what comes first then precedes what comes next.
   */
  readonly byDomain: boolean;
}

/**
 * Large enough to see several observations of a domain at once, small enough for four in memory, where they
 * take many times as much. The bytes are those of lines that do not repeat what an earlier one says.
 */
const BATCH_LINES = 10_000;
const BATCH_DOMAINS = 2_000;
const BATCH_BYTES = 256 * 1024;

/** Without a common domain: while the rules are applied to one, the database writes others. */
const BATCHES_AT_ONCE = 4;

/** How often a batch that is not full is recorded, if no other is: a running tool's lines within a second. */
const FLUSH_MILLISECONDS = 250;

/**
 * Records those of a domain in the order of the lines. While four batches are being recorded the next is
 * read, and no more, so that memory does not grow with the input.
 *
 * @returns false if it stopped at a rejected line. Here, and when the input throws, what came before is
 *   recorded; when the database does, of each domain no line after one that is not.
 */
export async function importLines(chunks: AsyncIterable<readonly Line[]>, options: ImportOptions) {
  const { parse, summary, onRejected, strict } = options;
  const batches = new BatchQueue(options);
  try {
    for await (const lines of chunks) {
      for (const line of lines) {
        const { observations, remarks, rejected } = parse(line);
        const domain = observations[0]?.domain;
        if (batches.mayEndBefore(domain)) await batches.submitInTurn();
        summary.linesRead += 1;
        if (rejected !== undefined) {
          summary.linesRejected += 1;
          onRejected(line, rejected);
          if (strict) return false;
        }
        batches.add(observations, line.bytes.length);
        summary.addRemarks(remarks, domain);
      }
    }
    return true;
  } finally {
    await batches.finish();
  }
}

class Batch {
  /** The observations of each line that has some. */
  readonly lines: (readonly Observation[])[] = [];
  readonly domains = new Set<string>();
  bytes = 0;
}

class BatchQueue {
  readonly #options: ImportOptions;
  #batch = new Batch();
  /** What lines said, for as long as it is in memory. */
  readonly #contents = new WeakSet<object>();
  readonly #recording = new Map<Batch, Promise<void>>();
  readonly #timer: NodeJS.Timeout | undefined;
  #failure: unknown;

  constructor(options: ImportOptions) {
    this.#options = options;
    const flush = () => {
      if (this.#recording.size === 0) this.#submit();
    };
    if (!options.byDomain) this.#timer = setInterval(flush, FLUSH_MILLISECONDS);
  }

  /** @param next The domain of the next line, if it has any. */
  mayEndBefore(next: string | undefined): boolean {
    const { lines, domains, bytes } = this.#batch;
    if (lines.length < BATCH_LINES && domains.size < BATCH_DOMAINS && bytes < BATCH_BYTES) return false;
    return !this.#options.byDomain || (next !== undefined && next !== lines.at(-1)?.[0]?.domain);
  }

  /** @throws why a batch before could not be recorded. */
  add(observations: readonly Observation[], bytes: number): void {
    if (this.#failure !== undefined) throw this.#failure;
    const batch = this.#batch;
    if (observations.length > 0) batch.lines.push(observations);
    for (const observation of observations) {
      batch.domains.add(observation.domain);
      // Lines that say the same have their contents in common (see parseDmsLine).
      const content = observation.dns ?? observation.httpHeaders ?? observation;
      batch.bytes += this.#contents.has(content) ? 0 : bytes;
      this.#contents.add(content);
    }
  }

  /** Hands over the batch when its turn has come: those of a domain are recorded one after the other. */
  async submitInTurn(): Promise<void> {
    // It may be handed over while it waits: the next one, empty, has no domain in common with others.
    const hasSameDomain = ({ domains }: Batch) => [...this.#batch.domains].some((name) => domains.has(name));
    const mustWait = () =>
      this.#recording.size >= BATCHES_AT_ONCE || [...this.#recording.keys()].some(hasSameDomain);
    while (mustWait()) await Promise.race(this.#recording.values());
    this.#submit();
  }

  /** @throws why a batch could not be recorded. */
  async finish(): Promise<void> {
    await this.submitInTurn();
    await Promise.all(this.#recording.values());
    clearInterval(this.#timer);
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Hands over the batch, if it has any; after a failure, nothing more is recorded. */
  #submit(): void {
    const batch = this.#batch;
    if (this.#failure !== undefined || batch.lines.length === 0) return;
    this.#batch = new Batch();
    const { recorder, summary, older } = this.#options;
    const recording = recorder
      .record(batch.lines.flat(), older)
      .then((recorded) => summary.add(batch.lines, recorded))
      .catch((error: unknown) => {
        // What fails after it may fail for its sake; where the server ends, only one may be told why.
        if (this.#failure === undefined || isLost(this.#failure)) this.#failure = error;
      })
      .finally(() => this.#recording.delete(batch));
    this.#recording.set(batch, recording);
  }
}
