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

interface KeyedLine extends SortKey {
  /** Its place among all lines. */
  readonly place: number;
  readonly line: Line;
}

/** Sorted at once in memory; more than this goes through a file. */
const RUN_BYTES = 16 * 1024 * 1024;
/** What a line takes in memory beside its bytes. */
const LINE_OVERHEAD = 300;
const CHUNK_LINES = 500;
/** Read ahead while runs are merged, of all of them together; but of each at least the second. */
const MERGE_BYTES = 4 * 1024 * 1024;
const LEAST_READ_BYTES = 16 * 1024;
const LONG_AGO: Instant = -(10n ** 18n);

/**
 * Gives lines in the order of their keys; lines of one key stay in the order they came in.
 *
 * The memory it takes does not grow with the input: sorted runs go to a temporary file, and are merged from
 * there. Not to a temporary table: the embedded database's one session would hold it for all clients, and take
 * the input twice.
 *
 * @param keyOf The key of a line; null for one that has none: it stays with the line before it.
 * @throws OperationError where the temporary file cannot be written.
 */
export async function* sortLines(
  chunks: AsyncIterable<readonly Line[]>,
  keyOf: (line: Line) => SortKey | null,
  runBytes = RUN_BYTES,
): AsyncGenerator<readonly Line[]> {
  const runs = new RunFile();
  try {
    let run: KeyedLine[] = [];
    let bytes = 0;
    let place = 0;
    let key: SortKey = { domain: '', time: LONG_AGO };
    for await (const lines of chunks) {
      for (const line of lines) {
        key = keyOf(line) ?? key;
        run.push({ domain: key.domain, time: key.time, place, line });
        place += 1;
        bytes += line.bytes.length + LINE_OVERHEAD;
      }
      if (bytes < runBytes) continue;
      await runs.append(run.sort(compareLines));
      run = [];
      bytes = 0;
    }
    run.sort(compareLines);
    if (!runs.isEmpty) await runs.append(run);
    for await (const lines of runs.isEmpty ? chunksOf(run) : merge(runs.readAll())) {
      yield lines.map(({ line }) => line);
    }
  } finally {
    await runs.close();
  }
}

/** 0 only for the same line. */
function compareLines(one: KeyedLine, other: KeyedLine): number {
  if (one.domain !== other.domain) return one.domain < other.domain ? -1 : 1;
  return compareInstants(one.time, other.time) || one.place - other.place;
}

function* chunksOf(run: readonly KeyedLine[]): Generator<readonly KeyedLine[]> {
  for (let first = 0; first < run.length; first += CHUNK_LINES) yield run.slice(first, first + CHUNK_LINES);
}

/** A sorted run, in chunks of at least one line. */
type Run = AsyncIterator<KeyedLine[], undefined>;

class RunFile {
  #file: FileHandle | undefined;
  readonly #ends: number[] = [];

  get isEmpty(): boolean {
    return this.#ends.length === 0;
  }

  async append(run: readonly KeyedLine[]): Promise<void> {
    try {
      this.#file ??= await openUnnamed();
      let end = this.#ends.at(-1) ?? 0;
      for (const lines of chunksOf(run)) {
        const chunk = Buffer.concat(lines.flatMap(encode));
        await this.#file.writeFile(chunk);
        end += chunk.length;
      }
      this.#ends.push(end);
    } catch (error) {
      const reason = messageOf(error);
      throw new OperationError(
        'Sorting needs a temporary file as large as the input, which cannot be written in ' +
          `${tmpdir()} (${reason}): make room there, or set TMPDIR to a folder with enough.`,
        { cause: error },
      );
    }
  }

  readAll(): Run[] {
    const chunkBytes = Math.max(LEAST_READ_BYTES, Math.floor(MERGE_BYTES / this.#ends.length));
    return this.#ends.map((end, index) => this.#read(this.#ends[index - 1] ?? 0, end, chunkBytes));
  }

  async *#read(start: number, end: number, chunkBytes: number): AsyncGenerator<KeyedLine[], undefined> {
    for await (const lines of readLines(this.#bytes(start, end, chunkBytes))) {
      if (lines.length > 0) yield lines.map(decode);
    }
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

/** Reading takes one CR off a line's end: that of the line itself stays. */
const LINE_END = Buffer.from('\r\n');
/** Of a canonical name, which has no spaces and at most 253 characters, and of numbers. */
const HEAD = /^(\S*) (-?\d+) (\d+) (\d+) (\d+) /;
const LONGEST_HEAD = 350;

function encode({ domain, time, place, line: { input = 0, number, bytes } }: KeyedLine): Buffer[] {
  return [Buffer.from(`${domain} ${time} ${place} ${input} ${number} `), bytes, LINE_END];
}

function decode({ bytes }: Line): KeyedLine {
  const head = HEAD.exec(bytes.toString('latin1', 0, LONGEST_HEAD)) ?? [];
  const [{ length } = '', domain = '', time = '', place, input, number] = head;
  const line = { input: Number(input), number: Number(number), bytes: bytes.subarray(length) };
  return { domain, time: BigInt(time), place: Number(place), line };
}

async function* merge(runs: readonly Run[]): AsyncGenerator<readonly KeyedLine[]> {
  let open = runs.map((run) => ({ run, lines: [] as KeyedLine[] }));
  for (;;) {
    for (const each of open) if (each.lines.length === 0) each.lines = (await each.run.next()).value ?? [];
    open = open.filter(({ lines }) => lines.length > 0);
    // The rest of a run comes after what was read of it: up to the least of the ends, nothing is missing.
    const [end] = open.flatMap(({ lines }) => lines.at(-1) ?? []).sort(compareLines);
    if (end === undefined) return;
    const ready = open.flatMap(({ lines }) => {
      const after = lines.findIndex((line) => compareLines(line, end) > 0);
      return lines.splice(0, after === -1 ? lines.length : after);
    });
    yield ready.sort(compareLines);
  }
}
