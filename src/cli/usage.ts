import { type Command, CommanderError } from 'commander';
import { UsageError } from '../model/errors.js';

/**
 * Makes a command, and all below it, throw instead of ending the process: a UsageError whose one line
 * says what is wrong and what to write instead, or a CommanderError with exit code 0 after `--help`.
 * Texts that were asked for are written with `write`.
 */
export function throwUsageErrors(command: Command, write: (text: string) => void): void {
  command.exitOverride((error) => {
    throw error.exitCode === 0 ? error : new UsageError(explain(command, error));
  });
  // What commander would print beside an error is in the error's own line.
  command.configureOutput({ writeOut: write, writeErr: () => {}, outputError: () => {} });
  for (const subcommand of command.commands) throwUsageErrors(subcommand, write);
}

/** Whether an error only says that a text was asked for and has been written. */
export function isAnswered(error: unknown): boolean {
  return error instanceof CommanderError && error.exitCode === 0;
}

function explain(command: Command, error: CommanderError): string {
  // Given without a subcommand, commander "shows the help" as an error.
  if (error.code === 'commander.help') return `Name what to do: ${subcommandsOf(command)}.`;
  const complaint = error.message.replace(/^error: /, '').replace(/\s*\n\s*/g, ' ');
  const sentence = /[.?)]$/.test(complaint) ? complaint : `${complaint}.`;
  const instead =
    error.code === 'commander.unknownCommand'
      ? `There are ${subcommandsOf(command)}.`
      : `Write: ${nameOf(command)} ${command.usage()}`;
  return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)} ${instead}`;
}

function subcommandsOf(command: Command): string {
  return command.commands.map((subcommand) => `${nameOf(command)} ${subcommand.name()}`).join(', ');
}

function nameOf(command: Command): string {
  return command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`;
}
