import { Command, Option } from 'commander';
import type { Settings } from '../../config/settings.js';
import { checkRejects } from '../../importers/check-rejects.js';
import { createParser, IMPORT_FORMATS, type ImportFormat } from '../../importers/formats.js';
import { type ImportEnd, importInputs } from '../../importers/import-inputs.js';
import { ImportSummary } from '../../importers/import-summary.js';
import { type Input, openInput } from '../../importers/open-input.js';
import { RejectsFile } from '../../importers/rejects.js';
import { addImportCounts, type ImportCounts } from '../../recorder/import-counts.js';
import { createRecorder, type Recorder } from '../../recorder/recorder.js';
import type { CommandContext } from '../command-context.js';
import { type ProgressState, showProgress } from '../progress.js';
import { stopSignal } from '../stop-signal.js';
import { type KeptRefusals, Refusals } from './import-refusals.js';
import { SUMMARY_WORDS, summaryText } from './import-summary-text.js';

interface ImportOptions {
  readonly format: 'auto' | ImportFormat;
  readonly sort: boolean;
  readonly strict: boolean;
  readonly rejects?: string;
}

/** `dms import FILE…`: records observations. */
export function importCommand(context: CommandContext): Command {
  return new Command('import')
    .summary('record observations from files')
    .description(
      'Records the observations of files, one JSON object a line (see the README): in the format dms, or as httpx ' +
        'writes them with -json and -irh or -irr. A line that cannot be taken is reported and changes nothing; ' +
        'the others are recorded. Importing a file again changes nothing.',
    )
    .argument('<file...>', 'files to read; - is standard input; gzip is unpacked')
    .addOption(
      new Option('--format <format>', "format of the lines; auto: of each file, by its first line's keys")
        .choices(['auto', ...IMPORT_FORMATS])
        .default('auto'),
    )
    .option('--sort', 'sort each file by time first, on disk, for files not in the order of time', false)
    .option('--strict', 'stop at the first line that is refused', false)
    .option('--rejects <file>', 'write the refused lines, as they came, to this file, new or empty')
    .addHelpText('after', SUMMARY_WORDS)
    .action((files: string[], options: ImportOptions) => runImport(context, files, options));
}

async function runImport(
  context: CommandContext,
  files: readonly string[],
  options: ImportOptions,
): Promise<void> {
  const signal = stopSignal(context);
  const { limits, observe } = context.settings();
  const rejects = await rejectsOf(options, files);
  const database = await context.openDatabase();
  const summary = new ImportSummary();
  try {
    const recorder = createRecorder(database.pool);
    const { ignoredHeaders } = observe;
    const run = { ...options, files, ignoredHeaders, limits, recorder, summary, rejects, signal };
    await importFiles(context, run);
  } finally {
    // What an operator reads of it is no reason to call an import failed that is not.
    if (summary.linesRead > 0) await addImportCounts(database.pool, countsOf(summary)).catch(() => {});
    await database.close();
  }
}

function countsOf({ changed, unchanged, repeated, stale, linesRefused }: ImportSummary): ImportCounts {
  return { changed, unchanged, repeated, stale, refused: linesRefused };
}

interface ImportRun extends Pick<ImportOptions, 'format' | 'sort' | 'strict'> {
  readonly files: readonly string[];
  readonly ignoredHeaders: ReadonlySet<string>;
  readonly limits: Settings['limits'];
  readonly recorder: Recorder;
  readonly summary: ImportSummary;
  readonly rejects: KeptRefusals | null;
  readonly signal: AbortSignal;
}

async function importFiles(context: CommandContext, run: ImportRun): Promise<void> {
  const { summary } = run;
  const detected = new Set<ImportFormat>();
  const refusals = new Refusals(summary, run.rejects, (text) => context.stderr.write(text));
  const progress = new InputProgress(summary, run.signal);
  const hideProgress = showProgress(context.stderr, 'lines', () => progress.state());
  const began = performance.now();
  const sumUp = (ending: string) => {
    hideProgress();
    context.stderr.write(ending);
    refusals.close();
    context.stdout.write(summaryText(summary, (performance.now() - began) / 1000, detected));
  };
  try {
    const end = await importInputs(progress.inputs(run.files, context.stdin), {
      ...run,
      longestLine: run.limits.line,
      createParser: ({ name }) =>
        createParser(run.format, {
          ...run,
          name,
          now: context.now,
          onDetected: (format) => detected.add(format),
        }),
      onRefused: (input, line, reason) => refusals.add(input, line, reason),
    }).finally(() => run.rejects?.file.close());
    sumUp(endingOf(end, run));
    if (end === 'stopped' || summary.linesRefused > 0) context.setExitCode(1);
  } catch (error) {
    // Where not even a line was read, there is nothing to sum up.
    if (summary.linesRead > 0) sumUp(FAILED);
    else hideProgress();
    throw error;
  }
}

const FAILED =
  'Not all was imported, for the reason in the last line; what the summary counts as recorded stays.\n';

function endingOf(end: ImportEnd, { sort }: Pick<ImportOptions, 'sort'>): string {
  switch (end) {
    case 'complete':
      return '';
    case 'refused':
      return (
        'Stopped at the first line refused, as --strict asks; the lines before it' +
        `${sort ? ' in the order of time' : ''} are recorded.\n`
      );
    case 'stopped':
      return 'Stopped by a signal; what the summary counts is recorded. Import the same again to go on.\n';
  }
}

/** @throws UsageError where refused lines would replace something. */
async function rejectsOf(
  { rejects: path }: ImportOptions,
  files: readonly string[],
): Promise<KeptRefusals | null> {
  if (path === undefined) return null;
  await checkRejects(path, files);
  return { file: new RejectsFile(path), path };
}

/** How far the inputs are read. */
class InputProgress {
  readonly #summary: ImportSummary;
  readonly #signal: AbortSignal;
  #read = 0;
  #size: number | null = null;

  constructor(summary: ImportSummary, signal: AbortSignal) {
    this.#summary = summary;
    this.#signal = signal;
  }

  state(): ProgressState {
    return { done: this.#read, total: this.#size, items: this.#summary.linesRead };
  }

  async *inputs(files: readonly string[], stdin: NodeJS.ReadStream): AsyncGenerator<Input> {
    for (const file of files) {
      this.#read = 0;
      this.#size = null;
      const onBytes = (count: number) => {
        this.#read += count;
      };
      const input = await openInput(file, stdin, onBytes, this.#signal);
      this.#size = input.size;
      yield input;
    }
  }
}
