import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageOf, OperationError } from '../model/errors.js';
import { compareInstants, type Instant } from '../model/instant.js';
import { type Line, readLines } from './lines.js';

export interface SortKey {
  /** In canonical form; empty: they are sorted by time alone. */
  readonly domain: string;
  readonly time: Instant;
}

interface TimedLine extends SortKey {
  readonly line: Line;
}

export interface SortOptions {
  /** The key of a line; null for one that has none: it stays with the line before it. */
  readonly keyOf: (line: Line) => SortKey | null;
  /** Sorted at once in memory; more than this goes through a file. */
  readonly runBytes?: number;
  /** Ends the sorting: it throws the signal's reason. */
  readonly signal?: AbortSignal;
}

const DEFAULT_RUN_BYTES = 16 * 1024 * 1024;
/** What a line takes in memory beside its bytes. */
const LINE_OVERHEAD = 300;
const CHUNK_LINES = 500;
/** Read ahead while runs are merged, of all of them together; but of each at least the second. */
const MERGE_BYTES = 4 * 1024 * 1024;
const LEAST_READ_BYTES = 16 * 1024;
const LONG_AGO: Instant = -(10n ** 18n);
const LINE_FEED = Buffer.from('\n');

/**
 * Gives lines in the order of their keys; lines of one key stay in the order they came in.
 *
 * The memory it takes does not grow with the input: sorted runs go to a temporary file, and are merged from there. Not
 * to a temporary table: the embedded database's one session would hold it for all clients, and take the input twice.
 *
 * @throws OperationError where the temporary file cannot be written.
 */
export async function* sortLines(
  chunks: AsyncIterable<readonly Line[]>,
  { keyOf, runBytes = DEFAULT_RUN_BYTES, signal }: SortOptions,
): AsyncGenerator<readonly Line[]> {
  const runs = new RunFile();
  try {
    let run: TimedLine[] = [];
    let bytes = 0;
    let key: SortKey = { domain: '', time: LONG_AGO };
    for await (const lines of chunks) {
      for (const line of lines) {
        key = keyOf(line) ?? key;
        const { domain, time } = key;
        run.push({ line, domain, time });
        bytes += line.bytes.length + LINE_OVERHEAD;
      }
      if (bytes < runBytes) continue;
      await runs.append(run.sort(compareKeys));
      run = [];
      bytes = 0;
    }
    for await (const lines of merged([...runs.readAll(), inMemory(run.sort(compareKeys))])) {
      signal?.throwIfAborted();
      yield lines;
    }
  } finally {
    await runs.close();
  }
}

function compareKeys(left: SortKey, right: SortKey): number {
  if (left.domain !== right.domain) return left.domain < right.domain ? -1 : 1;
  return compareInstants(left.time, right.time);
}

/** A sorted run, in chunks. */
type Run = AsyncIterator<readonly TimedLine[]>;

function* chunksOf(run: readonly TimedLine[]): Generator<readonly TimedLine[]> {
  for (let first = 0; first < run.length; first += CHUNK_LINES) yield run.slice(first, first + CHUNK_LINES);
}

async function* inMemory(run: readonly TimedLine[]): AsyncGenerator<readonly TimedLine[]> {
  yield* chunksOf(run);
}

/** Sorted runs, one after the other in a temporary file. */
class RunFile {
  #file: FileHandle | undefined;
  readonly #ends: number[] = [];

  async append(run: readonly TimedLine[]): Promise<void> {
    try {
      this.#file ??= await openUnnamed();
      let end = this.#ends.at(-1) ?? 0;
      for (const chunk of encoded(run)) {
        await this.#file.writeFile(chunk);
        end += chunk.length;
      }
      this.#ends.push(end);
    } catch (error) {
      const reason = messageOf(error);
      throw new OperationError(
        `Sorting needs a temporary file as large as the input, which cannot be written in ${tmpdir()} (${reason}): ` +
          'make room there, or set TMPDIR to a folder with enough.',
        { cause: error },
      );
    }
  }

  /** In the order in which they were appended. */
  readAll(): Run[] {
    const chunkBytes = Math.max(LEAST_READ_BYTES, Math.floor(MERGE_BYTES / (this.#ends.length + 1)));
    return this.#ends.map((end, index) => this.#read(this.#ends[index - 1] ?? 0, end, chunkBytes));
  }

  async *#read(start: number, end: number, chunkBytes: number): AsyncGenerator<readonly TimedLine[]> {
    for await (const lines of readLines(this.#bytes(start, end, chunkBytes))) yield lines.map(decoded);
  }

  async *#bytes(start: number, end: number, chunkBytes: number): AsyncGenerator<Buffer> {
    for (let position = start; position < end && this.#file !== undefined; ) {
      const buffer = Buffer.allocUnsafe(Math.min(chunkBytes, end - position));
      const { bytesRead } = await this.#file.read({ buffer, position });
      position += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  }

  async close(): Promise<void> {
    await this.#file?.close();
  }
}

/** A file that is unlinked as soon as it is opened: nothing of it remains however the process ends. */
async function openUnnamed(): Promise<FileHandle> {
  const folder = await mkdtemp(join(tmpdir(), 'dms-sort-'));
  try {
    return await open(join(folder, 'runs'), 'wx+');
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** A line of the file: its key, its input and number there, the limit that it exceeds, and the line itself. */
function* encoded(run: readonly TimedLine[]): Generator<Buffer> {
  for (const lines of chunksOf(run)) {
    const pieces = lines.flatMap(({ domain, time, line: { input = 0, number, exceeded, bytes } }) => [
      Buffer.from(`${domain} ${time} ${input} ${number} ${exceeded ?? 0} `),
      bytes,
      LINE_FEED,
    ]);
    yield Buffer.concat(pieces);
  }
}

/** Of a canonical name, which has no spaces and at most 253 characters, and of numbers. */
const HEAD = /^(\S*) (-?\d+) (\d+) (\d+) (\d+) /;
const LONGEST_HEAD = 350;

function decoded({ bytes }: Line): TimedLine {
  const head = HEAD.exec(bytes.toString('latin1', 0, LONGEST_HEAD)) ?? [];
  const [{ length } = '', domain = '', time = '', input, number, exceeded] = head;
  const line = {
    input: Number(input),
    number: Number(number),
    bytes: bytes.subarray(length),
    exceeded: Number(exceeded) || null,
  };
  return { domain, time: BigInt(time), line };
}

/** Merges sorted runs; of equal keys the earlier run's come first. */
async function* merged(runs: readonly Run[]): AsyncGenerator<readonly Line[]> {
  let open: Reading[] = runs.map((run) => ({ run, lines: [] }));
  for (;;) {
    for (const reading of open) await refill(reading);
    open = open.filter(({ lines }) => lines.length > 0);
    // The rest of a run comes after what was read of it: up to the least of the ends, nothing is missing.
    const ends = open.flatMap(({ lines }) => lines.at(-1) ?? []);
    const [end] = ends.toSorted(compareKeys);
    if (end === undefined) return;
    const ready = open.flatMap((reading, index) => takeUpTo(end, reading, index <= ends.indexOf(end)));
    yield ready.sort(compareKeys).map(({ line }) => line);
  }
}

/** A run, and what was read of it and has not been given yet. */
interface Reading {
  readonly run: Run;
  lines: readonly TimedLine[];
}

/** Reads on to the next chunk that has lines, if there is one. */
async function refill(reading: Reading): Promise<void> {
  while (reading.lines.length === 0) {
    const chunk = await reading.run.next();
    if (chunk.done === true) return;
    reading.lines = chunk.value;
  }
}

function takeUpTo(end: SortKey, reading: Reading, withEqual: boolean): readonly TimedLine[] {
  const { lines } = reading;
  const most = withEqual ? 0 : -1;
  const after = lines.findIndex((line) => compareKeys(line, end) > most);
  const count = after === -1 ? lines.length : after;
  reading.lines = lines.slice(count);
  return lines.slice(0, count);
}
