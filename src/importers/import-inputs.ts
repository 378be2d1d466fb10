import { InvalidObservationError } from '../model/errors.js';
import type { Instant } from '../model/instant.js';
import type { Recorder } from '../recorder/recorder.js';
import { requireLines } from './foreign-input.js';
import { importLines, type ParseLine } from './import-lines.js';
import type { ImportSummary } from './import-summary.js';
import { type Line, readLines, textOf } from './lines.js';
import type { Input } from './open-input.js';
import { sortLines } from './sort-lines.js';

export interface InputOptions {
  /** Makes what parses the lines of one input; it is given them from the input's first one on. */
  readonly createParser: (input: Input) => ParseLine;
  readonly recorder: Recorder;
  readonly summary: ImportSummary;
  /** Told of each line that is refused, of which input it is, and why. */
  readonly onRefused: (input: Input, line: Line, reason: string) => Promise<void> | void;
  readonly strict: boolean;
  /** In bytes: a longer line is rejected. */
  readonly longestLine: number;
  /** Sort each input by time before it is recorded. */
  readonly sort: boolean;
  /** Stops the import: what was read is recorded, and nothing more is read. */
  readonly signal: AbortSignal;
}

/** How an import came to its end: all is read, or a line was refused and `strict`, or it was stopped. */
export type ImportEnd = 'complete' | 'refused' | 'stopped';

/**
 * Records the observations of inputs, one after the other.
 *
 * @param inputs those that are open when `signal` is aborted must throw its reason.
 * @throws what an input, or the database, throws; what came before is recorded.
 */
export async function importInputs(inputs: AsyncIterable<Input>, options: InputOptions): Promise<ImportEnd> {
  const { signal } = options;
  try {
    for await (const input of inputs) {
      if (!(await importInput(input, options))) {
        return 'refused';
      }
    }
    return 'complete';
  } catch (error) {
    if (signal.aborted && error === signal.reason) {
      return 'stopped';
    }
    throw error;
  }
}

function importInput(input: Input, options: InputOptions): Promise<boolean> {
  const { sort, signal, longestLine } = options;
  const parse = options.createParser(input);
  const lines = untilAborted(readLines(requireLines(input), longestLine), signal);
  return importLines(sort ? sortLines(lines, { timeOf: timeOf(parse), signal }) : lines, {
    ...options,
    parse,
    onRefused: (line, reason) => options.onRefused(input, line, reason),
  });
}

/** Throws also where the input never waits, and so does not see the signal before its end. */
async function* untilAborted<Chunk>(
  chunks: AsyncIterable<Chunk>,
  signal: AbortSignal,
): AsyncGenerator<Chunk> {
  for await (const chunk of chunks) {
    signal.throwIfAborted();
    yield chunk;
  }
}

/** A line that is refused has no time; the import that follows says why. */
function timeOf(parse: ParseLine): (line: Line) => Instant | null {
  return (line) => {
    try {
      return parse(textOf(line))[0]?.observedAt ?? null;
    } catch (error) {
      if (error instanceof InvalidObservationError) return null;
      throw error;
    }
  };
}
