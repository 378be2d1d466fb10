import { type Command, CommanderError } from 'commander';
import { UsageError } from '../model/errors.js';

/**
 * Makes a command, and all below it, throw instead of ending the process: a UsageError whose one line says what is
 * wrong and what to write instead, or a CommanderError with exit code 0 after a text like help is written by `write`.
 */
export function throwUsageErrors(command: Command, write: (text: string) => void): void {
  command.exitOverride((error) => {
    throw error.exitCode === 0 ? error : new UsageError(explain(command, error));
  });
  // What commander would print beside an error is in the error's own line.
  command.configureOutput({ writeOut: write, writeErr: () => {}, outputError: () => {} });
  // Commander would answer `dms nonsense --help` with the help of dms.
  command.addHelpText('before', () => rejectUnknown(command));
  for (const subcommand of command.commands) throwUsageErrors(subcommand, write);
}

function rejectUnknown(command: Command): string {
  const [word = '-'] = command.args;
  if (command.commands.length === 0 || word.startsWith('-') || word === 'help') return '';
  throw new UsageError(unknownCommand(command, word));
}

/** @param similar The commands that the word may mean. */
function unknownCommand(command: Command, word: string, similar: readonly string[] = []): string {
  const meant = similar.map((name) => `${nameOf(command)} ${name}`).join(' or ');
  const guess = meant === '' ? '.' : `: did you mean ${meant}?`;
  return `Unknown command '${word}'${guess} All commands: ${nameOf(command)} --help`;
}

/** Whether an error only says that a requested text, such as help, was written. */
export function isAnswered(error: unknown): boolean {
  return error instanceof CommanderError && error.exitCode === 0;
}

function explain(command: Command, error: CommanderError): string {
  if (error.code === 'commander.help') return explainHelp(command);
  if (error.code === 'commander.unknownCommand') {
    const [, meant = ''] = /Did you mean (?:one of )?(.+)\?/.exec(error.message) ?? [];
    return unknownCommand(command, command.args[0] ?? '', meant.match(/[^, ]+/g) ?? []);
  }
  const complaint = error.message.replace(/^error: /, '').replace(/\s*\n\s*/g, ' ');
  const sentence = /[.?)]$/.test(complaint) ? complaint : `${complaint}.`;
  return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)} ${insteadOf(command, error)}`;
}

/** Without a subcommand, and for help on an unknown one, commander "shows the help" as an error. */
function explainHelp(command: Command): string {
  const [word, name] = command.args;
  if (word === 'help' && name !== undefined) return unknownCommand(command, name);
  return `Name what to do: ${command.commands.map(nameOf).join(', ')}.`;
}

function insteadOf(command: Command, error: CommanderError): string {
  const setting = error.code === 'commander.unknownOption' ? settingMeant(command.args) : null;
  if (setting !== null) return `Settings come from the environment: ${setting} ${nameOf(command)}`;
  const [, name] = /unknown option '(-[\w-]*\.[\w.-]+)'/.exec(error.message) ?? [];
  if (name !== undefined) return `A name that begins with "-" follows "--": ${nameOf(command)} -- ${name}`;
  // Commander names the option that a value, or the option itself, is missing of.
  const [, option = '[options]'] = MISSING.has(error.code) ? (/'(-[^']+)'/.exec(error.message) ?? []) : [];
  return `Write: ${nameOf(command)} ${command.usage().replace('[options]', option)}`;
}

const MISSING: ReadonlySet<string> = new Set([
  'commander.missingMandatoryOptionValue',
  'commander.optionMissingArgument',
]);

/** Settings that may be taken for options. */
const SETTINGS =
  /^--(port|host|base-path|database-url|data-dir|redis-url|log-level|trust-proxy|role|samples)(?:=(.*))?$/s;

/** The setting, with its value, that one of the arguments means; null where none does. */
function settingMeant(args: readonly string[]): string | null {
  const place = args.findIndex((argument) => SETTINGS.test(argument));
  const [, name, value = args[place + 1]] = SETTINGS.exec(args[place] ?? '') ?? [];
  if (name === undefined) return null;
  const variable = name.toUpperCase().replaceAll('-', '_');
  // An address may hold a password.
  const shown = value !== undefined && /^[\w./:-]+$/.test(value) && !name.endsWith('-url') ? value : '…';
  return `${variable}=${shown}`;
}

function nameOf(command: Command): string {
  return command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`;
}
