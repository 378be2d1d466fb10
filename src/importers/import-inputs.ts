import type { Instant } from '../model/instant.js';
import type { Recorder } from '../recorder/recorder.js';
import { importLines, type ParseLine } from './import-lines.js';
import type { ImportSummary } from './import-summary.js';
import { type Line, readLines, textOf } from './lines.js';
import type { Input } from './open-input.js';
import { sortLines } from './sort-lines.js';

export interface InputOptions {
  readonly parse: ParseLine;
  readonly recorder: Recorder;
  readonly summary: ImportSummary;
  /** Told of each line that is refused, of which input it is, and why. */
  readonly onRefused: (input: Input, line: Line, reason: string) => Promise<void> | void;
  readonly strict: boolean;
  /** Sort each input by time before it is recorded. */
  readonly sort: boolean;
}

/**
 * Records the observations of inputs, one after the other.
 *
 * @returns false if it stopped at a refused line, as `strict` asks.
 */
export async function importInputs(inputs: AsyncIterable<Input>, options: InputOptions): Promise<boolean> {
  for await (const input of inputs) {
    const lines = readLines(input.bytes);
    const chunks = options.sort ? sortLines(lines, { timeOf: timeOf(options.parse) }) : lines;
    const completed = await importLines(chunks, {
      ...options,
      onRefused: (line, reason) => options.onRefused(input, line, reason),
    });
    if (!completed) {
      return false;
    }
  }
  return true;
}

/** A line that is refused has no time; the import that follows says why. */
function timeOf(parse: ParseLine): (line: Line) => Instant | null {
  return (line) => {
    try {
      return parse(textOf(line))[0]?.observedAt ?? null;
    } catch {
      return null;
    }
  };
}
