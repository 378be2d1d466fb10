import { InvalidObservationError } from '../model/errors.js';
import type { Observation } from '../model/observation.js';
import type { Recorder } from '../recorder/recorder.js';
import type { ImportSummary } from './import-summary.js';
import { type Line, textOf } from './lines.js';

/** Turns the text of a line into observations; throws InvalidObservationError for an invalid one. */
export type ParseLine = (text: string) => readonly Observation[];

export interface ImportOptions {
  readonly parse: ParseLine;
  readonly recorder: Recorder;
  readonly summary: ImportSummary;
  /** Told of each line that is rejected, and why; waited for. */
  readonly onRejected: (line: Line, reason: string) => Promise<void> | void;
  /** Stop at the first line that is rejected. */
  readonly strict: boolean;
}

/**
 * Large enough to see several observations of a domain at once; the bytes, of lines that do not repeat what an
 * earlier one says, are what it takes in memory: some ten times as much, and as much again to record it.
 */
const BATCH_OBSERVATIONS = 5_000;
const BATCH_BYTES = 1024 * 1024;

/**
 * A line waits no longer for its batch to fill, unless the batch before it is still being recorded. Half of the second
 * within which it is to be recorded, so that a running tool's lines can be seen, and few are lost with a process.
 */
const LONGEST_WAIT_MILLISECONDS = 500;

/**
 * Records the observations of lines, in the order of the lines: while one batch is being recorded the
 * next is read, and no more, so that memory does not grow with the input.
 *
 * @returns false if it stopped at a rejected line; what came before it is recorded.
 * @throws what the input, or the database, throws; what came before is recorded.
 */
export async function importLines(
  chunks: AsyncIterable<readonly Line[]>,
  options: ImportOptions,
): Promise<boolean> {
  const batches = new BatchQueue(options);
  try {
    for await (const lines of chunks) {
      if (!(await takeLines(lines, options, batches))) {
        return false;
      }
    }
    return true;
  } finally {
    batches.submit();
    await batches.settled();
  }
}

async function takeLines(
  lines: readonly Line[],
  { parse, summary, onRejected, strict }: ImportOptions,
  batches: BatchQueue,
): Promise<boolean> {
  for (const line of lines) {
    try {
      batches.add(parse(textOf(line)), line.bytes.length);
      summary.linesRead += 1;
    } catch (error) {
      if (!(error instanceof InvalidObservationError)) {
        throw error;
      }
      summary.linesRead += 1;
      summary.linesRejected += 1;
      await onRejected(line, error.message);
      if (strict) {
        return false;
      }
    }
    if (batches.isFull()) {
      await batches.submitInTurn();
    }
  }
  return true;
}

/** The batch that is being filled, and the one that is being recorded. */
class BatchQueue {
  private readonly options: Pick<ImportOptions, 'recorder' | 'summary'>;
  private batch: Observation[] = [];
  /** What the lines said so far, for as long as it is in memory. */
  private readonly contents = new WeakSet<object>();
  private bytes = 0;
  private recording: Promise<void> = Promise.resolve();
  private waiting = 0;
  /** Runs from the first line of a batch until the batch is handed over. */
  private timer: NodeJS.Timeout | undefined;
  private isOverdue = false;
  private failure: unknown;

  constructor(options: Pick<ImportOptions, 'recorder' | 'summary'>) {
    this.options = options;
  }

  /** @throws why a batch before could not be recorded. */
  add(observations: readonly Observation[], bytes: number): void {
    if (this.failure !== undefined) throw this.failure;
    this.timer ??= setTimeout(() => {
      this.isOverdue = true;
      this.submitOverdue();
    }, LONGEST_WAIT_MILLISECONDS);
    for (const observation of observations) {
      this.batch.push(observation);
      // Lines that say the same have their contents in common (see parseDmsLine).
      const content = observation.dns ?? observation.httpHeaders ?? observation;
      if (!this.contents.has(content)) this.bytes += bytes;
      this.contents.add(content);
    }
  }

  isFull(): boolean {
    return this.batch.length >= BATCH_OBSERVATIONS || this.bytes >= BATCH_BYTES;
  }

  /** Hands the batch over to be recorded after the one before it; the order of lines must hold. */
  submit(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.isOverdue = false;
    const { batch } = this;
    if (batch.length === 0) {
      return;
    }
    this.batch = [];
    this.bytes = 0;
    this.waiting += 1;
    this.recording = this.recording.then(() => this.record(batch));
  }

  /** Hands over a full batch when the one before it is recorded. It may have become overdue while it waited. */
  async submitInTurn(): Promise<void> {
    while (this.waiting > 0 && this.isFull()) {
      await this.settled();
    }
    if (this.isFull()) this.submit();
  }

  /** What comes while a batch is being recorded is gathered: a slow database does not get one of each moment. */
  private submitOverdue(): void {
    if (this.isOverdue && this.waiting === 0) this.submit();
  }

  async settled(): Promise<void> {
    await this.recording;
    if (this.failure !== undefined) {
      throw this.failure;
    }
  }

  private async record(batch: readonly Observation[]): Promise<void> {
    try {
      if (this.failure === undefined) {
        this.options.summary.add(batch, await this.options.recorder.record(batch));
      }
    } catch (error) {
      this.failure = error;
    } finally {
      this.waiting -= 1;
      this.submitOverdue();
    }
  }
}
