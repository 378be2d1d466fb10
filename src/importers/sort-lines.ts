import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import { messageOf, OperationError } from '../model/errors.js';
import { compareInstants, type Instant } from '../model/instant.js';
import type { Line } from './lines.js';

export interface SortKey {
  /** In canonical form; empty: they are sorted by time alone. */
  readonly domain: string;
  readonly time: Instant;
}

interface KeyedLine extends SortKey, Line {
  /** Among all lines. */
  readonly place: number;
}

/** Sorted at once in memory; more than this goes through a file. */
const RUN_BYTES = 16 * 1024 * 1024;
/** In memory of each run while they are merged. */
const CHUNK_BYTES = 64 * 1024;
/** What a line takes in memory beside its bytes. */
const LINE_OVERHEAD = 300;
const LONG_AGO: Instant = -(10n ** 18n);

/**
 * Lines of one key stay in the order they came in. Memory does not grow with the input: sorted runs are
 * merged from a temporary file. Not from a temporary table: the embedded database's one session would hold it
 * for all clients.
 *
 * @param keyOf Null for a line that has none: it stays with the line before it.
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
    let [size, place] = [0, 0];
    let key: SortKey = { domain: '', time: LONG_AGO };
    for await (const lines of chunks) {
      for (const line of lines) {
        key = keyOf(line) ?? key;
        // A spread would take as much time as all the rest.
        const { input, number, bytes } = line;
        run.push({ domain: key.domain, time: key.time, place, input, number, bytes });
        place += 1;
        size += bytes.length + LINE_OVERHEAD;
      }
      if (size < runBytes) continue;
      await runs.append(run);
      [run, size] = [[], 0];
    }
    if (runs.places.length === 0) yield* chunksOf(run);
    else {
      await runs.append(run);
      yield* merge(runs.places.map((places) => runs.read(places)));
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

function* chunksOf(run: KeyedLine[]): Generator<readonly KeyedLine[]> {
  let [start, size] = [0, 0];
  for (const [at, { bytes }] of run.sort(compareLines).entries()) {
    size += bytes.length + LINE_OVERHEAD;
    if (size < CHUNK_BYTES && at < run.length - 1) continue;
    yield run.slice(start, at + 1);
    [start, size] = [at + 1, 0];
  }
}

/** Of a line, in the order in which sortLines() has them: to read objects takes four times as long. */
type Values = readonly [string, Instant, number, number | undefined, number, Buffer];

/** In chunks of at least one line. */
type Run = AsyncIterator<KeyedLine[], undefined>;

class RunFile {
  #file: FileHandle | undefined;
  /** Of each run, where its chunks begin and the last one ends. */
  readonly places: number[][] = [];

  async append(run: KeyedLine[]): Promise<void> {
    let end = this.places.at(-1)?.at(-1) ?? 0;
    const places = [end];
    try {
      this.#file ??= await openUnnamed();
      for (const lines of chunksOf(run)) {
        const chunk = serialize(lines.map(Object.values));
        await this.#file.writeFile(chunk);
        end += chunk.length;
        places.push(end);
      }
    } catch (error) {
      throw new OperationError(
        'Sorting needs a temporary file as large as the input, which cannot be written in ' +
          `${tmpdir()} (${messageOf(error)}): make room there, or set TMPDIR to a folder with enough.`,
        { cause: error },
      );
    }
    this.places.push(places);
  }

  async *read([start = 0, ...ends]: readonly number[]): AsyncGenerator<KeyedLine[], undefined> {
    let position = start;
    for (const end of ends) {
      const buffer = Buffer.allocUnsafe(end - position);
      // A file system may give less at once than it is asked for.
      for (let read = 0; read < buffer.length; ) {
        const { bytesRead = 0 } = (await this.#file?.read(buffer, read, undefined, position + read)) ?? {};
        if (bytesRead === 0) throw new Error('The temporary file of the sorted lines has become shorter.');
        read += bytesRead;
      }
      position = end;
      const lines: Values[] = deserialize(buffer);
      yield lines.map(toLine);
    }
  }

  async close(): Promise<void> {
    await this.#file?.close();
  }
}

function toLine([domain, time, place, input, number, bytes]: Values): KeyedLine {
  return { domain, time, place, input, number, bytes };
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
