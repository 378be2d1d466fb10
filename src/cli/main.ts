import { CommanderError } from 'commander';
import { explainFailure } from '../database/database-failure.js';
import { attempt } from '../model/attempt.js';
import { errorCode, OperationError, UsageError } from '../model/errors.js';
import { redactSecrets } from '../telemetry/redact.js';
import { createCommandContext, type Process } from './command-context.js';
import { writeText } from './output.js';
import { createProgram } from './program.js';

const WRONG_USE = 2;

/**
 * Runs one command to its end. An error is one line on standard error, with a stack only if LOG_LEVEL is debug.
 * The exit code is 0; 1 for a failure; 2 for a usage error; that of the signal for what a signal has cut short.
 */
export async function runCommand(args: readonly string[], parent: Process): Promise<void> {
  let helpOrVersion = '';
  const context = createCommandContext(parent, () => program.opts()['quiet'] === true);
  const program = createProgram(context, (text) => {
    helpOrVersion += text;
  });
  // Without a command, commander would write the help as an error.
  const parsing = program.parseAsync(args.length === 0 ? ['--help'] : args, { from: 'user' });
  try {
    await parsing.catch((error) => {
      if (!(error instanceof CommanderError)) throw error;
      if (error.exitCode !== 0) parent.setExitCode(WRONG_USE);
    });
    await writeText(parent.stdout, helpOrVersion);
  } catch (error) {
    // It is no failure if the reader of a pipe closes it early.
    if (error instanceof OperationError && errorCode(error.cause) === 'EPIPE') return;
    context.warn(redactSecrets(describe(error, parent)));
    parent.setExitCode(error instanceof UsageError ? WRONG_USE : context.failure.code);
  }
}

function describe(error: unknown, parent: Process): string {
  if (!(error instanceof Error)) return String(error);
  // The error may be about that very setting.
  if (attempt(() => parent.settings().logLevel) === 'debug') return error.stack ?? error.message;
  return explainFailure(error) ?? (error.message.replace(/\s*\n\s*/g, ' ').trim() || error.name);
}
