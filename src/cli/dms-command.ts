import { Command, type ErrorOptions, type HelpContext, Option } from 'commander';
import { UsageError } from '../model/errors.js';
import { formatInstant, requireReached } from '../model/instant.js';
import type { CommandContext } from './command-context.js';
import { collectWords, readOption, requestedTime } from './option-values.js';

/** What a command does: commander's arguments, and after them its options, follow the context. */
type Run<Args extends unknown[]> = (context: CommandContext, ...args: Args) => Promise<void>;

/**
 * A command, with what many have. A wrong use throws a UsageError: one line that says what is wrong, and what to write
 * instead.
 */
export class DmsCommand extends Command {
  readonly #context: CommandContext;

  constructor(context: CommandContext, name?: string) {
    super(name);
    this.#context = context;
  }

  override createCommand(name?: string): DmsCommand {
    return new DmsCommand(this.#context, name);
  }

  /** @param load Called when the command runs: help and usage errors need nothing of it. */
  runs<Args extends unknown[]>(load: () => Promise<Run<Args>>): this {
    return this.action(async (...args: Args) => (await load())(this.#context, ...args));
  }

  /** An option with one of the values; without it, the first. */
  choice<Value extends string>(flags: string, values: readonly Value[], meaning: string): this {
    return this.addOption(new Option(flags, meaning).choices(values).default(values[0]));
  }

  /** A time, which becomes that of RFC 3339. */
  time(flag: string, meaning: string): this {
    const { now } = this.#context;
    const read = (text: string) => formatInstant(requestedTime(flag, text, now()));
    return this.option(`${flag} <time>`, meaning, read);
  }

  /** A time of which something can be known, as an instant. */
  reachedTime(flag: string, meaning: string): this {
    const { now } = this.#context;
    const read = (text: string) =>
      readOption(flag, () => requireReached(requestedTime(flag, text, now()), now()));
    return this.option(`${flag} <time>`, meaning, read);
  }

  /** The options of ChangeOptions. */
  selectsChanges(): this {
    return this.option('--registrable-domain <name>', 'only changes of that domain and all below it')
      .option('--watched', 'only changes of watched domains')
      .option('--kinds <kind,...>', 'only changes of these kinds, such as DNS_RECORD_REMOVED', collectWords)
      .option('--types <type,...>', 'only records of these types', collectWords)
      .option('--headers <name,...>', 'only these headers', collectWords)
      .option('--all', 'the routine changes, too: what rotates, serials, validators', false);
  }

  override error(message: string, { code = '' }: ErrorOptions = {}): never {
    throw new UsageError(explain(this, message, code));
  }

  /** Without a subcommand, and for help on an unknown one, commander shows the help as an error. */
  override help(context?: HelpContext | ((text: string) => string)): never {
    if (typeof context !== 'object' || !context.error) return super.help();
    const [word, name] = this.args;
    if (word === 'help' && name !== undefined) throw new UsageError(unknownCommand(this, name));
    throw new UsageError(`Name what to do: ${this.commands.map(nameOf).join(', ')}.`);
  }

  /** Commander would answer `dms nonsense --help` with the help of dms. */
  override helpInformation(context?: HelpContext): string {
    const [word = '-'] = this.args;
    const isKnown = this.commands.length === 0 || word.startsWith('-') || word === 'help';
    if (!isKnown) throw new UsageError(unknownCommand(this, word));
    return super.helpInformation(context);
  }
}

/** @param similar The commands that the word may mean. */
function unknownCommand(command: Command, word: string, similar: readonly string[] = []): string {
  const meant = similar.map((name) => `${nameOf(command)} ${name}`).join(' or ');
  const guess = meant === '' ? '.' : `: did you mean ${meant}?`;
  return `Unknown command '${word}'${guess} All commands: ${nameOf(command)} --help`;
}

function explain(command: Command, message: string, code: string): string {
  if (code === 'commander.unknownCommand') {
    const [, meant = ''] = /Did you mean (?:one of )?(.+)\?/.exec(message) ?? [];
    return unknownCommand(command, command.args[0] ?? '', meant.match(/[^, ]+/g) ?? []);
  }
  const complaint = message.replace(/^error: /, '').replace(/\s*\n\s*/g, ' ');
  const sentence = /[.?)]$/.test(complaint) ? complaint : `${complaint}.`;
  return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)} ${insteadOf(command, message, code)}`;
}

function insteadOf(command: Command, message: string, code: string): string {
  const setting = code === 'commander.unknownOption' ? settingMeant(command.args) : null;
  if (setting !== null) return `Settings come from the environment: ${setting} ${nameOf(command)}`;
  const [, name] = /unknown option '(-[\w-]*\.[\w.-]+)'/.exec(message) ?? [];
  if (name !== undefined) return `A name that begins with "-" follows "--": ${nameOf(command)} -- ${name}`;
  // Commander names the option that a value, or the option itself, is missing of.
  const isMissing = /^commander\.(missingMandatoryOptionValue|optionMissingArgument)$/.test(code);
  const [, option = '[options]'] = (isMissing && /'(-[^']+)'/.exec(message)) || [];
  return `Write: ${nameOf(command)} ${command.usage().replace('[options]', option)}`;
}

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
