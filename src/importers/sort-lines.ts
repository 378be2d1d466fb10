import { createReadStream, createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { compareInstants, type Instant } from '../model/instant.js';
import { type Line, readLines } from './lines.js';
import { makeSortFolder } from './sort-folder.js';

/** A line with what it is sorted by. */
interface TimedLine {
  readonly line: Line;
  readonly time: Instant;
}

export interface SortOptions {
  /** The time of a line; null for one that has none: it stays with the line before it. */
  readonly timeOf: (line: Line) => Instant | null;
  /** Sorted at once in memory; more than this goes through files. */
  readonly runBytes?: number;
  /** Files merged at once. */
  readonly mergedFiles?: number;
  /** Ends the sorting: it throws the signal's reason. */
  readonly signal?: AbortSignal;
}

const DEFAULT_RUN_BYTES = 32 * 1024 * 1024;
const DEFAULT_MERGED_FILES = 64;
const CHUNK_LINES = 500;
const FILE_CHUNK_BYTES = 256 * 1024;
const LONG_AGO: Instant = -(10n ** 18n);

/**
 * Gives lines in the order of their times; lines of the same time stay in the order they came in.
 *
 * The memory it takes does not grow with the input: sorted runs go to files in a temporary folder,
 * which it removes, as it does what a killed process has left of its own, and are merged from there.
 */
export async function* sortLines(
  chunks: AsyncIterable<readonly Line[]>,
  options: SortOptions,
): AsyncGenerator<readonly Line[]> {
  const folder = await makeSortFolder();
  try {
    const files = new RunFiles(folder);
    const last = await writeRuns(chunks, options, files);
    await mergeDown(files, options);
    for await (const lines of merge([...files.all.map(readRun), [last]], options.signal)) {
      yield lines.map(({ line }) => line);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The sorted files, in the order of the input. */
class RunFiles {
  all: string[] = [];
  private readonly folder: string;
  private count = 0;

  constructor(folder: string) {
    this.folder = folder;
  }

  async write(chunks: AsyncIterable<readonly TimedLine[]> | Iterable<readonly TimedLine[]>): Promise<string> {
    this.count += 1;
    const file = join(this.folder, String(this.count));
    await pipeline(Readable.from(encoded(chunks)), createWriteStream(file));
    return file;
  }
}

/** Writes all runs but the last, which it returns. */
async function writeRuns(
  chunks: AsyncIterable<readonly Line[]>,
  { timeOf, runBytes = DEFAULT_RUN_BYTES }: SortOptions,
  files: RunFiles,
): Promise<TimedLine[]> {
  let run: TimedLine[] = [];
  let bytes = 0;
  let time = LONG_AGO;
  for await (const lines of chunks) {
    for (const line of lines) {
      time = timeOf(line) ?? time;
      run.push({ line, time });
      bytes += line.bytes.length;
    }
    if (bytes >= runBytes) {
      files.all.push(await files.write([sorted(run)]));
      run = [];
      bytes = 0;
    }
  }
  return sorted(run);
}

/** Merges neighbouring files until few enough are left to be read at once. */
async function mergeDown(
  files: RunFiles,
  { mergedFiles: most = DEFAULT_MERGED_FILES, signal }: SortOptions,
): Promise<void> {
  while (files.all.length > most) {
    const merged: string[] = [];
    for (let first = 0; first < files.all.length; first += most) {
      const group = files.all.slice(first, first + most);
      merged.push(await files.write(merge(group.map(readRun), signal)));
      await Promise.all(group.map((file) => rm(file)));
    }
    files.all = merged;
  }
}

function sorted(run: TimedLine[]): TimedLine[] {
  return run.sort((left, right) => compareInstants(left.time, right.time));
}

/** One of the sorted inputs of a merge. */
interface Cursor {
  readonly chunks: AsyncIterator<readonly TimedLine[]> | Iterator<readonly TimedLine[]>;
  lines: readonly TimedLine[];
  next: number;
  /** The next line; undefined at the end of the input. */
  head: TimedLine | undefined;
}

/** Merges sorted inputs; of equal times the earlier input's come first. */
async function* merge(
  inputs: readonly (AsyncIterable<readonly TimedLine[]> | Iterable<readonly TimedLine[]>)[],
  signal: AbortSignal | undefined,
): AsyncGenerator<readonly TimedLine[]> {
  const cursors = inputs.map(cursorOf);
  try {
    for (const cursor of cursors) await refill(cursor);
    let out: TimedLine[] = [];
    for (let from = earliest(cursors); from?.head !== undefined; from = earliest(cursors)) {
      out.push(from.head);
      from.next += 1;
      from.head = from.lines[from.next];
      if (from.head === undefined) await refill(from);
      if (out.length >= CHUNK_LINES) {
        signal?.throwIfAborted();
        yield out;
        out = [];
      }
    }
    yield out;
  } finally {
    // Of inputs that were not read to their end, the files are open.
    for (const { chunks } of cursors) await chunks.return?.();
  }
}

function cursorOf(input: AsyncIterable<readonly TimedLine[]> | Iterable<readonly TimedLine[]>): Cursor {
  const chunks = Symbol.asyncIterator in input ? input[Symbol.asyncIterator]() : input[Symbol.iterator]();
  return { chunks, lines: [], next: 0, head: undefined };
}

/** The cursor whose next line has the least time, the first of several; undefined when all are at their end. */
function earliest(cursors: readonly Cursor[]): Cursor | undefined {
  let least: Cursor | undefined;
  for (const cursor of cursors) {
    if (cursor.head === undefined) continue;
    if (least?.head === undefined || cursor.head.time < least.head.time) least = cursor;
  }
  return least;
}

/** Goes on to the next chunk that has lines, if there is one. */
async function refill(cursor: Cursor): Promise<void> {
  let chunk = await cursor.chunks.next();
  while (chunk.done !== true && chunk.value.length === 0) chunk = await cursor.chunks.next();
  cursor.lines = chunk.done === true ? [] : chunk.value;
  cursor.next = 0;
  cursor.head = cursor.lines[0];
}

/** A line of a run file: time, number, the limit that it exceeds, and the line itself. */
function* encodedChunk(lines: readonly TimedLine[]): Generator<Buffer> {
  for (let first = 0; first < lines.length; first += CHUNK_LINES) {
    const pieces: Buffer[] = [];
    for (const { time, line } of lines.slice(first, first + CHUNK_LINES)) {
      pieces.push(Buffer.from(`${time} ${line.number} ${line.exceeded ?? 0} `), line.bytes, LINE_FEED);
    }
    yield Buffer.concat(pieces);
  }
}

const LINE_FEED = Buffer.from('\n');

async function* encoded(
  chunks: AsyncIterable<readonly TimedLine[]> | Iterable<readonly TimedLine[]>,
): AsyncGenerator<Buffer> {
  for await (const lines of chunks) {
    yield* encodedChunk(lines);
  }
}

async function* readRun(file: string): AsyncGenerator<readonly TimedLine[]> {
  for await (const lines of readLines(
    createReadStream(file, { highWaterMark: FILE_CHUNK_BYTES }),
    Number.POSITIVE_INFINITY,
  )) {
    yield lines.map(decoded);
  }
}

function decoded({ bytes }: Line): TimedLine {
  const first = bytes.indexOf(' ');
  const second = bytes.indexOf(' ', first + 1);
  const third = bytes.indexOf(' ', second + 1);
  const number = Number(bytes.toString('latin1', first + 1, second));
  const exceeded = Number(bytes.toString('latin1', second + 1, third)) || null;
  const time = BigInt(bytes.toString('latin1', 0, first));
  return { time, line: { number, exceeded, bytes: bytes.subarray(third + 1) } };
}
