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
  /** Called for each rejected line, with the reason. */
  readonly onRejected: (input: Input, line: Line, reason: string) => Promise<void> | void;
  readonly strict: boolean;
  /** In bytes: a longer line is rejected. */
  readonly longestLine: number;
  /** Sort each input by time before it is recorded. */
  readonly sort: boolean;
  /** Called for lines that are read to be sorted, and with each chunk of sorted lines. */
  readonly sorting: { readonly onRead: (lines: number) => void; readonly onSorted: () => void };
  /** Stops the import: what was read is recorded, and nothing more is read. */
  readonly signal: AbortSignal;
}

/** All is read, or a line was rejected and `strict`, or the import was stopped. */
export type ImportEnd = 'complete' | 'rejected' | 'stopped';

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
      if (!(await importInput(input, options))) return 'rejected';
    }
    return 'complete';
  } catch (error) {
    if (signal.aborted && error === signal.reason) return 'stopped';
    throw error;
  }
}

/**
 * Reads the beginning of an input, to find before anything is recorded that it cannot be imported.
 *
 * @throws OperationError where it cannot be read, is foreign, or its lines are of a tool whose lines are not read.
 */
export async function requireImportable(
  input: Input,
  { createParser, longestLine }: Pick<InputOptions, 'createParser' | 'longestLine'>,
): Promise<void> {
  const timeOfLine = timeOf(createParser(input));
  for await (const lines of readLines(requireLines(input), longestLine)) {
    lines.find((line) => timeOfLine(line) !== null);
    return;
  }
}

function importInput(input: Input, options: InputOptions): Promise<boolean> {
  const { sort, sorting, longestLine, signal } = options;
  const parse = options.createParser(input);
  let lines = watched(readLines(requireLines(input), longestLine), signal, sort ? sorting.onRead : () => {});
  if (sort) lines = watched(sortLines(lines, { timeOf: timeOf(parse), signal }), signal, sorting.onSorted);
  return importLines(lines, {
    ...options,
    parse,
    onRejected: (line, reason) => options.onRejected(input, line, reason),
  });
}

/** Throws the signal's reason also where the input never waits, and so does not see the signal before its end. */
async function* watched(
  chunks: AsyncIterable<readonly Line[]>,
  signal: AbortSignal,
  onChunk: (lines: number) => void,
): AsyncGenerator<readonly Line[]> {
  for await (const lines of chunks) {
    signal.throwIfAborted();
    onChunk(lines.length);
    yield lines;
  }
}

/** A line that is rejected has no time; the import that follows says why. */
function timeOf(parse: ParseLine): (line: Line) => Instant | null {
  return (line) => {
    try {
      return parse(textOf(line)).observations[0]?.observedAt ?? null;
    } catch (error) {
      if (error instanceof InvalidObservationError) return null;
      throw error;
    }
  };
}
