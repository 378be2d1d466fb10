import { type Command, CommanderError } from 'commander';
import { explainFailure } from '../database/database-failure.js';
import { attempt } from '../model/attempt.js';
import { OperationError, UsageError } from '../model/errors.js';
import { redactSecrets } from '../telemetry/redact.js';
import { createCommandContext, type Process } from './command-context.js';
import { isClosedPipe } from './output.js';
import { createProgram } from './program.js';

const WRONG_USE = 2;

/**
 * Runs one command to its end. An error is one line on standard error, with a stack only if LOG_LEVEL is debug.
 * The exit code is 0; 1 for a failure; 2 for a usage error; that of the signal for what a signal has cut short.
 *
 * @param args What follows the program's name.
 */
export async function runCommand(args: readonly string[], parent: Process): Promise<void> {
  const context = createCommandContext(parent, () => program.opts()['quiet'] === true);
  const program: Command = createProgram(context);
  try {
    // Without a command, commander would write the help as an error.
    await program.parseAsync(args.length === 0 ? ['--help'] : args, { from: 'user' });
  } catch (error) {
    // Commander has written the error, or the help or version that was asked for.
    if (error instanceof CommanderError)
      return error.exitCode === 0 ? undefined : parent.setExitCode(WRONG_USE);
    if (error instanceof OperationError && isClosedPipe(error.cause)) return;
    context.warn(redactSecrets(describe(error, parent)));
    parent.setExitCode(error instanceof UsageError ? WRONG_USE : context.failure.code);
  }
}

function describe(error: unknown, parent: Process): string {
  if (!(error instanceof Error)) return String(error);
  // The error may be about that very setting.
  const wantsStack = attempt(() => parent.settings().logLevel) === 'debug';
  if (wantsStack) return error.stack ?? error.message;
  const line = error.message.replace(/\s*\n\s*/g, ' ').trim();
  return explainFailure(error) ?? (line || error.name);
}
