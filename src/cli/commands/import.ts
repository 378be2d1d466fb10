import { Command, Option } from 'commander';
import { parseDmsLine } from '../../importers/dms.js';
import { importInputs } from '../../importers/import-inputs.js';
import { ImportSummary } from '../../importers/import-summary.js';
import type { Line } from '../../importers/lines.js';
import { type Input, openInput } from '../../importers/open-input.js';
import { openRejects, type RejectsFile } from '../../importers/rejects.js';
import { createRecorder } from '../../recorder/recorder.js';
import type { CommandContext } from '../command-context.js';
import { type ProgressState, showProgress } from '../progress.js';
import { summaryText } from './import-summary-text.js';

interface ImportOptions {
  readonly sort: boolean;
  readonly strict: boolean;
  readonly rejects?: string;
}

/** How many refused lines are shown with their reasons. */
const REASONS_SHOWN = 10;

/** `dms import FILE…`: records observations. */
export function importCommand(context: CommandContext): Command {
  return new Command('import')
    .summary('record observations from files')
    .description(
      'Records the observations of files, one JSON object a line (see the README). A line that cannot be taken ' +
        'is reported and changes nothing; the others are recorded. Importing a file again changes nothing.',
    )
    .argument('<file...>', 'files to read; - is standard input; gzip is unpacked')
    .addOption(new Option('--format <format>', 'format of the lines').choices(['dms']).default('dms'))
    .option('--sort', 'sort each file by time first, on disk, for files not in the order of time', false)
    .option('--strict', 'stop at the first line that is refused', false)
    .option('--rejects <file>', 'write the lines that are refused to this file, as they came')
    .action((files: string[], options: ImportOptions) => runImport(context, files, options));
}

async function runImport(
  context: CommandContext,
  files: readonly string[],
  options: ImportOptions,
): Promise<void> {
  const summary = new ImportSummary();
  const progress = new InputProgress(summary);
  const rejects = options.rejects === undefined ? null : await openRejects(options.rejects);
  const refusals = new Refusals(context, summary, rejects);
  const database = await context.openDatabase();
  const began = performance.now();
  const hideProgress = showProgress(context.stderr, 'lines', () => progress.state());
  try {
    const completed = await importInputs(progress.inputs(files, context.stdin), {
      parse: (text) => [parseDmsLine(text, context.now())],
      recorder: createRecorder(database.pool, { now: context.now }),
      summary,
      strict: options.strict,
      sort: options.sort,
      onRefused: (input, line, reason) => refusals.add(input, line, reason),
    });
    if (!completed) {
      context.stderr.write(
        'Stopped at the first line refused, as --strict asks; the lines before it are recorded.\n',
      );
    }
  } finally {
    hideProgress();
    await rejects?.close();
    await database.close();
    refusals.close(options.rejects);
    context.stdout.write(summaryText(summary, (performance.now() - began) / 1000));
  }
  if (summary.linesRefused > 0) {
    context.setExitCode(1);
  }
}

/** How far the inputs are read. */
class InputProgress {
  private readonly summary: ImportSummary;
  private read = 0;
  private size: number | null = null;

  constructor(summary: ImportSummary) {
    this.summary = summary;
  }

  state(): ProgressState {
    return { done: this.read, total: this.size, items: this.summary.linesRead };
  }

  async *inputs(files: readonly string[], stdin: NodeJS.ReadStream): AsyncGenerator<Input> {
    for (const file of files) {
      this.read = 0;
      this.size = null;
      const input = await openInput(file, stdin, (bytes) => {
        this.read += bytes;
      });
      this.size = input.size;
      yield input;
    }
  }
}

/** Reports the lines that are refused: the first ones with their reasons. */
class Refusals {
  private readonly context: CommandContext;
  private readonly summary: ImportSummary;
  private readonly rejects: RejectsFile | null;

  constructor(context: CommandContext, summary: ImportSummary, rejects: RejectsFile | null) {
    this.context = context;
    this.summary = summary;
    this.rejects = rejects;
  }

  async add(input: Input, line: Line, reason: string): Promise<void> {
    if (this.summary.linesRefused <= REASONS_SHOWN) {
      const name = input.name === '-' ? 'standard input' : input.name;
      this.context.stderr.write(`${name}, line ${line.number} refused: ${reason}\n`);
    }
    await this.rejects?.write(line);
  }

  close(path: string | undefined): void {
    const { linesRefused } = this.summary;
    if (linesRefused > REASONS_SHOWN) {
      this.context.stderr.write(`… and ${linesRefused - REASONS_SHOWN} more lines refused.\n`);
    }
    if (linesRefused > 0) {
      this.context.stderr.write(
        path === undefined
          ? 'To keep refused lines for mending, import again with --rejects FILE.\n'
          : `The refused lines are in ${path}: mend them there and import that file.\n`,
      );
    }
  }
}
