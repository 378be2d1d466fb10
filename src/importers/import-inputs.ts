import { InvalidObservationError } from '../model/errors.js';
import type { Recorder } from '../recorder/recorder.js';
import { requireLines } from './foreign-input.js';
import { importLines, type ParseLine } from './import-lines.js';
import type { ImportSummary } from './import-summary.js';
import { readJsonTexts } from './json-texts.js';
import { type Line, textOf } from './lines.js';
import type { Input } from './open-input.js';
import { type SortKey, sortLines } from './sort-lines.js';

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
  /** Sort all inputs together, by domain and time, and put observations before what is known, too. */
  readonly backfill: boolean;
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
    if (options.backfill) return (await importTogether(inputs, options)) ? 'complete' : 'rejected';
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
  const parse = createParser(input);
  for await (const lines of readJsonTexts(requireLines(input), longestLine)) {
    lines.find((line) => firstOf(parse, line) !== null);
    return;
  }
}

async function importInput(input: Input, options: InputOptions): Promise<boolean> {
  const all = readJsonTexts(requireLines(input), options.longestLine);
  try {
    return await importLinesOf(input, await all.next(), all, options);
  } finally {
    await all.return(undefined);
  }
}

/** @param first What the rest of the lines begins with. */
async function importLinesOf(
  input: Input,
  first: IteratorResult<readonly Line[], void>,
  rest: AsyncGenerator<readonly Line[], void>,
  options: InputOptions,
): Promise<boolean> {
  const { sorting, signal, summary } = options;
  const parse = options.createParser(input);
  for (const line of first.value ?? []) foresee(parse, line);
  const isGathered = isToBeGathered(input, first.value ?? [], options);
  const sort = options.sort || isGathered;
  let lines = watched(joined(first, rest), signal, sort ? sorting.onRead : () => {});
  const keyOf = (line: Line) => (isGathered ? firstOf(parse, line) : byTime(firstOf(parse, line)));
  if (sort) lines = watched(sortLines(lines, { keyOf, signal }), signal, sorting.onSorted);
  const isDone = await importLines(lines, {
    ...options,
    older: false,
    byDomain: isGathered,
    parse: (line) => parse(textOf(line)),
    onRejected: (line, reason) => options.onRejected(input, line, reason),
  });
  summary.addRemarks(parse.atEnd?.() ?? []);
  return isDone;
}

/**
 * Whether the lines of an input are to be recorded domain by domain, since their order has no meaning: each batch with lines of
 * a domain is put into the domain's whole history, which takes the longer the more batches there are. Not where lines may
 * come from a running tool, which are to be recorded at once, nor where the first that is rejected ends the import.
 */
function isToBeGathered(
  input: Input,
  first: readonly Line[],
  { createParser, strict }: Pick<InputOptions, 'createParser' | 'strict'>,
): boolean {
  if (input.size === null || strict) return false;
  const parse = createParser(input);
  first.find((line) => firstOf(parse, line) !== null);
  return parse.isUnordered?.() ?? false;
}

async function* joined<Item>(
  first: IteratorResult<Item, void>,
  rest: AsyncIterable<Item>,
): AsyncGenerator<Item> {
  if (first.done !== true) yield first.value;
  yield* rest;
}

/** Imports the lines of all inputs domain by domain, each in the order of time. */
async function importTogether(inputs: AsyncIterable<Input>, options: InputOptions): Promise<boolean> {
  const { createParser, sorting, longestLine, signal, summary } = options;
  const opened: { readonly input: Input; readonly parse: ParseLine }[] = [];
  const read = async function* (): AsyncGenerator<readonly Line[]> {
    for await (const input of inputs) {
      const place = opened.push({ input, parse: createParser(input) }) - 1;
      for await (const lines of readJsonTexts(requireLines(input), longestLine)) {
        yield lines.map(({ number, bytes, exceeded }) => ({ input: place, number, bytes, exceeded }));
      }
    }
  };
  const of = ({ input = 0 }: Line) => {
    const found = opened[input];
    if (found === undefined) throw new Error('A line is of an input that was not opened.');
    return found;
  };
  const keyOf = (line: Line) => firstOf(of(line).parse, line);
  const lines = sortLines(watched(read(), signal, sorting.onRead), { keyOf, signal });
  const isDone = await importLines(watched(lines, signal, sorting.onSorted), {
    ...options,
    older: true,
    byDomain: true,
    parse: (line) => of(line).parse(textOf(line)),
    onRejected: (line, reason) => options.onRejected(of(line).input, line, reason),
  });
  for (const { parse } of opened) summary.addRemarks(parse.atEnd?.() ?? []);
  return isDone;
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

/** What the beginning of an input shows decides about its first lines, too. */
function foresee(parse: ParseLine, line: Line): void {
  try {
    parse.foresee?.(textOf(line));
  } catch (error) {
    if (!(error instanceof InvalidObservationError)) throw error;
  }
}

/** Of the first observation of a line. One that is rejected has none; the import that follows says why. */
function firstOf(parse: ParseLine, line: Line): SortKey | null {
  try {
    const [first] = parse(textOf(line)).observations;
    return first === undefined ? null : { domain: first.domain, time: first.observedAt };
  } catch (error) {
    if (error instanceof InvalidObservationError) return null;
    throw error;
  }
}

function byTime(key: SortKey | null): SortKey | null {
  return key && { ...key, domain: '' };
}
