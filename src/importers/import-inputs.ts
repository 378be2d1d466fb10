import { requireLines } from './foreign-input.js';
import type { InputParser } from './formats.js';
import { type ImportOptions, importLines } from './import-lines.js';
import { readJsonTexts } from './json-texts.js';
import type { Line } from './lines.js';
import { type Input, peek } from './open-input.js';
import { type SortKey, sortLines } from './sort-lines.js';

export interface InputOptions extends Pick<ImportOptions, 'recorder' | 'summary' | 'strict'> {
  readonly createParser: () => InputParser;
  readonly onRejected: (input: Input, line: Line, reason: string) => void;
  /** Sort each input by time before it is recorded. */
  readonly sort: boolean;
  /** Sort all inputs together, by domain and time, and put observations before what is known, too. */
  readonly backfill: boolean;
  /** Called with lines that are read to be sorted, and for each chunk of sorted lines. */
  readonly sorting: { readonly onRead: (lines: number) => void; readonly onSorted: () => void };
  /** What was read is recorded, and nothing more is read. */
  readonly signal: AbortSignal;
}

export type ImportEnd = 'complete' | 'rejected' | 'stopped';

/**
 * @param inputs those that are open when `signal` is aborted must throw its reason.
 * @throws what an input, or the database, throws; what came before is recorded.
 */
export async function importInputs(inputs: AsyncIterable<Input>, options: InputOptions): Promise<ImportEnd> {
  const { backfill, signal } = options;
  try {
    if (backfill) return (await importGroup(inputs, options)) ? 'complete' : 'rejected';
    for await (const input of inputs) {
      if (!(await importGroup([input], options))) return 'rejected';
    }
    return 'complete';
  } catch (error) {
    if (signal.aborted && error === signal.reason) return 'stopped';
    throw error;
  }
}

/** @throws OperationError where the beginning of an input cannot be read, or is of another kind. */
export async function requireImportable(input: Input): Promise<void> {
  for await (const _ of requireLines(input)) return;
}

type Inputs = AsyncIterable<Input> | Iterable<Input>;

interface Opened {
  readonly input: Input;
  readonly parser: InputParser;
}

/** @param opened Gets the inputs, in the order in which lines name them. */
async function* readLines(inputs: Inputs, createParser: () => InputParser, opened: Opened[]) {
  for await (const input of inputs) {
    const parser = createParser();
    const place = opened.push({ input, parser }) - 1;
    let isFirst = true;
    for await (const lines of readJsonTexts(requireLines(input), parser.longestLine)) {
      if (isFirst) foresee(parser, lines);
      isFirst &&= lines.length === 0;
      yield lines.map(({ number, bytes }) => ({ input: place, number, bytes }));
    }
  }
}

/** Its first lines show what decides about others, too. Those of most formats show only their format. */
function foresee(parser: InputParser, lines: readonly Line[]): void {
  for (const line of lines) {
    parser.parse(line);
    if (parser.format !== undefined && parser.format !== 'cof') return;
  }
}

/** @returns false if it stopped at a rejected line. */
async function importGroup(inputs: Inputs, options: InputOptions): Promise<boolean> {
  const { backfill, strict, sorting, signal } = options;
  const opened: Opened[] = [];
  const openedFor = ({ input = 0 }: Line) => {
    const found = opened[input];
    if (found === undefined) throw new Error('A line is of an input that was not opened.');
    return found;
  };
  const parse = (line: Line) => openedFor(line).parser.parse(line);
  const hasLines = (chunks: readonly (readonly Line[])[]) => chunks.some((lines) => lines.length > 0);
  const [, all] = await peek(readLines(inputs, options.createParser, opened), hasLines);
  // The order of passive DNS has no meaning, and each batch is put into the whole history of its domains. Not
  // of a pipe: the lines of a running tool are to be recorded at once.
  const isGathered = ({ input, parser }: Opened) => input.size !== null && parser.format === 'cof';
  const byDomain = backfill || (!strict && opened.every(isGathered));
  // By the first observation of a line; one that has none, or is rejected, the import tells of later.
  const keyOf = (line: Line): SortKey | null => {
    const [first] = parse(line).observations;
    return first === undefined ? null : { domain: byDomain ? first.domain : '', time: first.observedAt };
  };
  const isSorted = byDomain || options.sort;
  const read = watch(all, signal, isSorted ? sorting.onRead : () => {});
  const lines = isSorted ? watch(sortLines(read, keyOf), signal, sorting.onSorted) : read;
  return importLines(lines, {
    ...options,
    older: backfill,
    byDomain,
    parse,
    onRejected: (line, reason) => options.onRejected(openedFor(line).input, line, reason),
  });
}

/** Throws the signal's reason also where the input never waits, and would not see the signal. */
async function* watch(
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
