import { type Line, readLines, textOf } from '../../importers/lines.js';
import { openInput } from '../../importers/open-input.js';
import { parseDomainName } from '../../model/domain-name.js';
import { InvalidDomainError, InvalidObservationError } from '../../model/errors.js';
import type { CommandContext } from '../command-context.js';
import { showProgress } from '../progress.js';

/** So many names are handed over at once. */
const BATCH = 5_000;

/**
 * Reads a file of domain names, a name a line; `#` begins a remark.
 *
 * @param file a path, or `-` for standard input; gzip is unpacked.
 * @param onRefused told of each line that is no name, and why.
 * @returns canonical names in batches, in each of which a name stands once.
 * @throws OperationError where it cannot be read.
 */
export async function* readNames(
  context: CommandContext,
  file: string,
  onRefused: (line: Line, reason: string) => void,
): AsyncGenerator<readonly string[]> {
  const progress = { read: 0, items: 0 };
  const onBytes = (count: number) => {
    progress.read += count;
  };
  const input = await openInput(file, context.stdin, onBytes);
  const state = () => ({ done: progress.read, total: input.size, items: progress.items });
  const hideProgress = showProgress(context.stderr, 'names', state);
  const batch = new Set<string>();
  try {
    for await (const lines of readLines(input.bytes, context.settings().limits.line)) {
      for (const line of lines) {
        progress.items += 1;
        const name = nameIn(line, onRefused);
        if (name !== null) batch.add(name);
      }
      if (batch.size >= BATCH) yield* emptied(batch);
    }
    yield* emptied(batch);
  } finally {
    hideProgress();
  }
}

function* emptied(batch: Set<string>): Generator<readonly string[]> {
  const names = [...batch];
  batch.clear();
  for (let first = 0; first < names.length; first += BATCH) yield names.slice(first, first + BATCH);
}

/** @returns null for a remark, a blank line or a refused one. */
function nameIn(line: Line, onRefused: (line: Line, reason: string) => void): string | null {
  try {
    const name = textOf(line).replace(/#.*/, '').trim();
    return name === '' ? null : parseDomainName(name);
  } catch (error) {
    if (!(error instanceof InvalidDomainError || error instanceof InvalidObservationError)) throw error;
    onRefused(line, error.message);
    return null;
  }
}
