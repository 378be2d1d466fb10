import type { Readable } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { InputParser } from '../../importers/formats.js';
import type { ImportFormat } from '../../importers/import-format.js';
import { type ImportEnd, importInputs, requireImportable } from '../../importers/import-inputs.js';
import { ImportSummary } from '../../importers/import-summary.js';
import type { Line } from '../../importers/lines.js';
import { type Input, openInput } from '../../importers/open-input.js';
import { RejectsFile } from '../../importers/rejects.js';
import { OperationError } from '../../model/errors.js';
import type { Instant } from '../../model/instant.js';
import { addImportCounts } from '../../recorder/import-counts.js';
import { createRecorder } from '../../recorder/recorder.js';
import { type CommandContext, now, stopSignal } from '../command-context.js';
import { type ProgressState, REJECTED_LINES_SHOWN, withProgress, writeText } from '../output.js';
import { remarksText, summaryJson, summaryText, warningText } from './import-report.js';

interface ImportOptions {
  readonly format: 'auto' | ImportFormat;
  readonly sort: boolean;
  readonly strict: boolean;
  readonly backfill: boolean;
  readonly observedAt?: Instant;
  readonly rejects?: string;
  readonly json: boolean;
}

/**
 * V8 collects when the heap has grown by so much since it did last, up to four times what is in use by default:
 * an import takes 280 MB so instead of 500 MB. What a large domain needs is not limited by it.
 */
const HEAP_GROWTH = '--heap-growing-percent=60';

export async function runImport(context: CommandContext, files: readonly string[], options: ImportOptions) {
  setFlagsFromString(HEAP_GROWTH);
  const signal = stopSignal(context);
  const { limits, observe } = context.settings();
  const { format, observedAt } = options;
  const { ignoredHeaders } = observe;
  const rejects = options.rejects === undefined ? null : new RejectsFile(options.rejects);
  await requireAllImportable(files, context.stdin);
  const formats = new Set<ImportFormat>();
  const onDetected = (detected: ImportFormat) => formats.add(detected);
  const summary = new ImportSummary();
  const progress = followInputs(summary);
  const inputOptions = {
    ...options,
    createParser: () => new InputParser(format, { now, ignoredHeaders, observedAt, limits, onDetected }),
    onRejected(input: Input, line: Line, reason: string) {
      if (summary.linesRejected <= REJECTED_LINES_SHOWN)
        context.stderr.write(`${input.name}, line ${line.number} rejected: ${reason}\n`);
      rejects?.write(line);
    },
    summary,
    sorting: progress.sorting,
    signal,
  };
  const sumUp = writerOfSummary(context, options, summary, formats);
  await context.withConnections('create', async ({ pool }) => {
    const inputs = progress.inputs(files, context.stdin, signal);
    const work = () => importInputs(inputs, { ...inputOptions, recorder: createRecorder(pool) });
    try {
      const end = await withProgress(context, progress.state, work)
        .finally(() => rejects?.close())
        .catch(async (error) => {
          // If no line was read, there is nothing to sum up.
          if (summary.linesRead > 0) await sumUp('failed');
          throw error;
        });
      if (end === 'stopped' || summary.linesRejected > 0) context.setExitCode(context.failure.code);
      await sumUp(end);
    } finally {
      const { changed, unchanged, repeated, stale, linesRejected: rejected } = summary;
      const counts = { changed, unchanged, repeated, stale, rejected };
      // An import does not fail because its counts cannot be written.
      if (summary.linesRead > 0) await addImportCounts(pool, counts).catch(() => {});
    }
  });
}

function writerOfSummary(
  context: CommandContext,
  { json, rejects }: ImportOptions,
  summary: ImportSummary,
  formats: ReadonlySet<ImportFormat>,
) {
  const began = performance.now();
  return async (end: keyof typeof ENDINGS): Promise<void> => {
    const seconds = (performance.now() - began) / 1000;
    const report = { summary, seconds, formats: [...formats].sort(), rejects };
    context.stderr.write(ENDINGS[end] + warningText(summary));
    context.note(remarksText(report));
    if (summary.linesRead === 0 && end === 'complete') context.note(NOTHING);
    if (json) await writeText(context.stdout, summaryJson(report));
    else if (summary.linesRead > 0) await context.sumUp(summaryText(report));
  };
}

const ENDINGS: Readonly<Record<ImportEnd | 'failed', string>> = {
  complete: '',
  rejected: 'Stopped at the first rejected line, as --strict requires; what came before it is recorded.\n',
  stopped: 'Stopped by a signal; what was read is recorded. To continue, import the same again.\n',
  failed: 'The import failed for the reason in the last line; what the summary counts as recorded stays.\n',
};

const NOTHING =
  'There was nothing to import: the input is empty. Expected are observations, one JSON object per line: ' +
  'see docs/importing.md.\n';

/** Where one file cannot be imported nothing is: later ones would make its observations stale. */
async function requireAllImportable(files: readonly string[], stdin: Readable): Promise<void> {
  try {
    for (const file of new Set(files)) {
      if (file === '-') continue;
      const input = await openInput(file, stdin, () => {});
      // Anything but a regular file, such as a pipe, can be read only once.
      if (input.size !== null) await requireImportable(input);
    }
  } catch (error) {
    if (files.length === 1 || !(error instanceof OperationError)) throw error;
    throw new OperationError(`${error.message} The other files are not imported either.`);
  }
}

function followInputs(summary: ImportSummary) {
  /** Of the input that is read, in bytes; null: its size is not known. */
  let [read, size]: [number, number | null] = [0, null];
  /** Lines that were read before this input. */
  let before = 0;
  /** Lines that were read to be sorted, of the inputs that are sorted together; whether all are. */
  let [sorted, isSorted] = [0, false];
  return {
    state(): ProgressState {
      const shareRead = size ? Math.min(1, read / size) : undefined;
      if (sorted > 0 && !isSorted) return { items: sorted, noun: 'lines to sort', share: shareRead };
      const items = summary.linesRead - before;
      return { items, noun: 'lines', share: sorted > 0 ? items / sorted : shareRead };
    },
    sorting: {
      onRead(lines: number) {
        sorted += lines;
      },
      onSorted() {
        isSorted = true;
      },
    },
    async *inputs(files: readonly string[], stdin: Readable, signal: AbortSignal): AsyncGenerator<Input> {
      const onBytes = (bytes: number) => {
        read += bytes;
      };
      for (const file of files) {
        [read, before, sorted, isSorted] = [0, summary.linesRead, isSorted ? 0 : sorted, false];
        const input = await openInput(file, stdin, onBytes, signal);
        size = input.size;
        yield input;
      }
    },
  };
}
