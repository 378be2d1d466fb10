import { type Line, readLines, textOf } from '../importers/lines.js';
import { openInput } from '../importers/open-input.js';
import { InvalidObservationError, OperationError, UsageError } from '../model/errors.js';
import type { CommandContext } from './command-context.js';
import { parseDomain } from './domain-arguments.js';
import { showProgress } from './progress.js';

/** How many rejected names are shown with their reasons. */
const REASONS_SHOWN = 10;

/** Names passed on at once. */
const BATCH = 5_000;

/**
 * Reads a file of domain names, one per line; `#` begins a comment.
 *
 * @param file a path, or `-` for standard input; gzip is decompressed.
 * @param counts of the lines that are not names: their number is added to `rejected`.
 * @returns canonical names in batches, without the duplicates that are near each other.
 * @throws OperationError where it cannot be read.
 */
export async function* readDomainFile(
  context: CommandContext,
  file: string,
  counts: { rejected: number },
): AsyncGenerator<readonly string[]> {
  let [bytes, items] = [0, 0];
  const input = await openInput(file, context.stdin, (count) => {
    bytes += count;
  });
  const hideProgress = showProgress(context.stderr, 'names', () => ({
    done: bytes,
    total: input.size,
    items,
  }));
  const onRejected = (line: Line, reason: string) => {
    counts.rejected += 1;
    if (counts.rejected <= REASONS_SHOWN) context.stderr.write(`line ${line.number} rejected: ${reason}\n`);
  };
  const batch = new Set<string>();
  try {
    for await (const lines of readLines(input.bytes, context.settings().limits.line)) {
      for (const line of lines) {
        items += 1;
        const name = nameIn(line, onRejected);
        if (name !== null) batch.add(name);
      }
      if (batch.size < BATCH) continue;
      yield* sliced([...batch]);
      batch.clear();
    }
    yield* sliced([...batch]);
  } finally {
    hideProgress();
  }
}

function* sliced(names: readonly string[]): Generator<readonly string[]> {
  for (let at = 0; at < names.length; at += BATCH) yield names.slice(at, at + BATCH);
}

/** @returns null for a comment, a blank line or a rejected one. */
function nameIn(line: Line, onRejected: (line: Line, reason: string) => void): string | null {
  try {
    const name = textOf(line).replace(/#.*/, '').trim();
    return name === '' ? null : parseDomain(name);
  } catch (error) {
    if (!(error instanceof UsageError || error instanceof InvalidObservationError)) throw error;
    onRejected(line, error.message);
    return null;
  }
}

/** @throws OperationError if lines of a file are not names; what the others are for is done. */
export function failIfRejected(rejected: number): void {
  if (rejected === 0) return;
  const lines = rejected === 1 ? '1 line is not a domain name' : `${rejected} lines are not domain names`;
  throw new OperationError(`${lines}; the others are done.`);
}
