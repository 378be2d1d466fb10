import { readFileSync } from 'node:fs';
import { Argument, Command, type CommandOptions, type HelpContext, Option } from 'commander';
import { SCOPES } from '../auth/viewer.js';
import { IMPORT_FORMATS } from '../importers/import-format.js';
import { redactSecrets } from '../telemetry/redact.js';
import type { CommandContext } from './command-context.js';
import {
  collectScopes,
  collectTypes,
  collectWords,
  durationUpTo,
  parseDuration,
  parseReachedTime,
  parseTime,
  parseWorkers,
  wholeNumber,
} from './option-values.js';

/** Commander's arguments, and after them the options, follow the context. */
type Run<Args extends unknown[]> = (context: CommandContext, ...args: Args) => Promise<void>;

class DmsCommand extends Command {
  readonly #context: CommandContext;

  constructor(context: CommandContext, name?: string) {
    super(name);
    this.#context = context;
  }

  override createCommand(name?: string): DmsCommand {
    return new DmsCommand(this.#context, name);
  }

  /** Commander would answer `dms nonsense --help` with the help of dms. */
  override helpInformation(context?: HelpContext): string {
    const [word = '-'] = this.args;
    if (this.commands.length > 0 && !word.startsWith('-') && word !== 'help')
      this.error(`error: unknown command '${word}'`, { code: 'commander.unknownCommand' });
    return super.helpInformation(context);
  }

  /** An option with one of the values; without it, the first. */
  choice(flags: string, values: readonly string[], meaning: string): this {
    return this.addOption(new Option(flags, meaning).choices(values).default(values[0]));
  }

  /** A flag that may not be written beside other options. */
  flag(flags: string, others: string | string[], meaning: string): this {
    return this.addOption(new Option(flags, meaning).default(false).conflicts(others));
  }

  changeOptions(): this {
    return this.option('--registrable-domain <name>', 'only changes of that domain and all below it')
      .option('--watched', 'only changes of watched domains')
      .option('--kinds <kind,...>', 'only changes of these kinds, such as DNS_RECORD_REMOVED', collectWords)
      .option('--types <type,...>', 'only records of these types', collectTypes)
      .option('--headers <name,...>', 'only these headers', collectWords)
      .option('--all', 'the routine changes, too: what rotates, serials, validators', false);
  }

  /** What a command does is loaded when it runs: help and usage errors take a fraction of that time. */
  runs<Args extends unknown[]>(load: () => Promise<Run<Args>>): this {
    return this.action(async (...args: Args) => (await load())(this.#context, ...args));
  }
}

/** For one run: commander keeps what it has parsed. @param show Gets the help or version that is asked for. */
export function createProgram(context: CommandContext, show: (text: string) => void): DmsCommand {
  // From src/ and from dist/ alike.
  const file = new URL('../../package.json', import.meta.url);
  const { version }: { readonly version: string } = JSON.parse(readFileSync(file, 'utf8'));
  const program = new DmsCommand(context, 'dms')
    .version(version, '-V, --version', 'show the version')
    .option('-q, --quiet', 'no progress, advice or summary: only results and errors')
    // Before the commands are made, which inherit these.
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: show,
      writeErr: (text) => context.stderr.write(text),
      outputError: (text) => context.warn(redactSecrets(text.replace(/^error: /, '').trimEnd())),
    })
    .showHelpAfterError('To see how it is used, add --help.')
    .exitOverride()
    .description('Records and serves the history of domains: their DNS records and HTTP response headers.')
    .addHelpText('after', EXAMPLES);
  const added = new Map<string, DmsCommand>();
  const add: Add = (path, description, options) => {
    const [, parent = '', name = path] = /^(\w+) (\w+)$/.exec(path) ?? [];
    const command = (added.get(parent) ?? program).command(name, options).description(description);
    added.set(path, command);
    return command;
  };
  for (const addSome of [addObserving, addNotify, addImport, addQuestions, addHistory, addUpkeep])
    addSome(add);
  return program;
}

/** @param path Its name, after that of the command that it belongs to. */
type Add = (path: string, description: string, options?: CommandOptions) => DmsCommand;

const EXAMPLES = `
Examples:
  dms serve                            serve the API and the page
  dms observe example.com              observe a domain now
  dms import observations.ndjson       record what other tools have seen
  dms show example.com --at 30d        what was there thirty days ago
  dms search 192.0.2.7                 who has or had an address

Settings, such as PORT, come from the environment, and from a file .env: see docs/settings.md.
Exit codes are in docs/commands.md.`;

const JSON_LINES = ['--json', 'one JSON object per line', false] as const;
const FORMAT = '--format <format>';
const AT = '--at <time>';
const TIMES = `
A time is RFC 3339, such as 2024-03-01T10:20:30Z, a date (its midnight, UTC), a duration
back from now, such as 36h, 30d or 2w, or now.`;
const FROM_FILE = [
  '--from-file <file>',
  'a file with one name per line; - for standard input; gzip and xz are decompressed; # begins a comment',
] as const;
const NAMES_ON_INPUT = '- reads names from standard input, one per line';

function addObserving(add: Add): void {
  add('serve', 'serve the API, and observe the watched domains unless ROLE=api, until SIGTERM or Ctrl-C')
    .option('--workers <number>', 'by so many processes; auto: one for each processor', parseWorkers, 1)
    .runs(async () => (await import('./commands/serve.js')).runServe);
  add(
    'worker',
    'observe the watched domains, as dms serve and other workers do, until SIGTERM or Ctrl-C',
  ).runs(async () => (await import('./commands/worker.js')).runWorker);
  add('observe', 'observe domains now, and show what changed: + is new, - is gone, ~ has another value')
    .argument('<domain...>', `domains to observe; ${NAMES_ON_INPUT}`)
    .option('--dry-run', 'record nothing', false)
    .option(...JSON_LINES)
    .runs(async () => (await import('./commands/observe.js')).runObserve);
  add('watch', 'manage the domains that dms serve and dms worker observe regularly');
  add('watch add', 'observe domains from now on; without --every, a watched one keeps its interval')
    .argument('[domain...]', `domains to watch; ${NAMES_ON_INPUT}`)
    .option('--every <duration>', 'time between observations, such as 30m or 6h (default: 1d)', parseDuration)
    .option(...FROM_FILE)
    .runs(async () => (await import('./commands/watch.js')).runAdd);
  add('watch remove', 'stop observing domains; what is recorded of them stays')
    .argument('[domain...]', `domains to stop watching; ${NAMES_ON_INPUT}`)
    .option(...FROM_FILE)
    .runs(async () => (await import('./commands/watch.js')).runRemove);
  add('watch list', 'show each watched domain: its interval, next time, failures in a row and last outcome')
    .option(...JSON_LINES)
    .runs(async () => (await import('./commands/watch.js')).runList);
}

function addNotify(add: Add): void {
  add('notify', 'manage who is told of changes, by dms serve and dms worker: see docs/notifications.md');
  add('notify add', 'tell changes from now on; prints the secret that signs messages, only this once')
    .argument('<name>', 'a name for it, unique among all notifications')
    .requiredOption('--url <url>', 'where messages go: https://…, or mailto:… for mail')
    .addOption(
      new Option('--as <form>', 'form of messages by POST (default: json)').choices(['json', 'slack']),
    )
    .option('--domains <name,...>', 'only changes of these domains, *.NAME for all below it', collectWords)
    .changeOptions()
    .option('--from <time>', 'only changes dated after that time (default: now)', parseTime)
    .option('--settle <duration>', 'only changes that still stand so long afterwards', durationUpTo(1n))
    .option('--digest <duration>', 'at most one message in that time, such as 1h', durationUpTo(1n))
    .option(
      '--watch-failures <number>',
      'also when a watched domain has failed so many times in a row, and when it is observed again',
      wholeNumber(1, 9_999),
    )
    .addHelpText('after', `${TIMES} All that is written has to be met by a change.`)
    .runs(async () => (await import('./commands/notify.js')).runAdd);
  add('notify list', 'show all notifications, and what became of their messages, without what is a secret')
    .option(...JSON_LINES)
    .runs(async () => (await import('./commands/notify.js')).runList);
  const NAME = ['<name>', "the notification's name"] as const;
  add('notify test', 'send a message that tells nothing, once; exit code 0 if it was received, else 1')
    .argument(...NAME)
    .runs(async () => (await import('./commands/notify.js')).runTest);
  add('notify pause', 'send nothing until dms notify resume; the feed keeps for three days what is not told')
    .argument(...NAME)
    .runs(async () => (await import('./commands/notify.js')).runPause);
  add('notify resume', 'go on where it was paused, first with the message that was not received')
    .argument(...NAME)
    .runs(async () => (await import('./commands/notify.js')).runResume);
  add('notify remove', 'remove a notification, with the message that was not received')
    .argument(...NAME)
    .runs(async () => (await import('./commands/notify.js')).runRemove);
}

function addImport(add: Add): void {
  add('import', 'record the observations of files, one JSON object per line: see docs/importing.md')
    .argument('<file...>', 'files to read; - for standard input; gzip and xz are decompressed')
    .choice(FORMAT, ['auto', ...IMPORT_FORMATS], 'of the lines; auto: told by the first line of each file')
    .option('--sort', 'sort each file by time first, on disk, for files not in the order of time', false)
    .option('--backfill', 'put older lines before what is recorded; sorts all files together, on disk', false)
    .option('--strict', 'stop at the first rejected line', false)
    .option('--observed-at <time>', 'of lines without one: old zdns and massdns write none', parseReachedTime)
    .option('--rejects <file>', 'write the rejected lines, unchanged, to this file, new or empty')
    .option('--json', 'the summary as one JSON object', false)
    .runs(async () => (await import('./commands/import.js')).runImport);
}

const COLOURS = ['auto', 'always', 'never'];
const COLOR = ['--color <when>', COLOURS, 'colours; auto: on a terminal, unless NO_COLOR is set'] as const;

const SEARCHING = `
A word may be an address or a network, a name, a host, a text, or a header and a part of its value
(server: nginx). All options that are written have to be met. Intervals of time begin after their
first time and include the second.
${TIMES}`;

function addQuestions(add: Add): void {
  add('show', 'show the history of a domain: what was there, and when')
    .argument('[domain]', 'the domain')
    // --diff takes all that follows it, so the domain may be among its values.
    .usage('[options] <domain>')
    .option(AT, 'the state at that time', parseReachedTime)
    .addOption(
      new Option('--diff <times...>', 'the difference between two times, FROM and TO').conflicts('at'),
    )
    .flag('--changes', ['at', 'diff'], 'the notable changes, the newest first')
    .option('--all', 'with --changes, the routine ones, too: what rotates, serials, validators', false)
    .option('--types <type,...>', 'of --diff and --changes, only records of these types', collectTypes)
    .option('--headers <name,...>', 'of --diff and --changes, only these headers', collectWords)
    .option('--json', 'the JSON of REST: Get domain, Domain diff, or with --changes a change per line', false)
    .choice(...COLOR)
    .addHelpText('after', TIMES)
    .runs(async () => (await import('./commands/show.js')).runShow);
  add('search', 'search all domains for a record, a header or a name')
    .argument('[word...]', 'what to search for')
    .option('--ip <address>', 'records with that IPv4 or IPv6 address')
    .option('--network <network>', 'records with an address of that network, such as 192.0.2.0/24')
    .option('--target <name>', 'records that name that host, such as NS or MX; *.NAME for all below it')
    .option('--text <part>', 'TXT records with that part, at least three characters')
    .option('--host <name>', 'records of that owner name; * for any characters, \\* for that of a wildcard')
    .option('--header <name=value>', 'headers with that value')
    .option('--contains <part>', 'with --header NAME: a part of the value, at least three characters')
    .option('--match <name>', 'domains with such a name; * for any characters')
    .option('--registrable-domain <name>', 'that domain and all below it')
    .option('--types <type,...>', 'only records of these types', collectTypes)
    .option('--present', 'only what is present')
    .addOption(new Option('--removed', 'only what is not present any more').conflicts('present'))
    .option(AT, 'as it was at that time')
    .option('--seen-from <time>', 'only what was there after that time')
    .option('--seen-to <time>', 'only what was there up to that time')
    .option('--first-seen-from <time>', 'only records first seen after that time')
    .option('--first-seen-to <time>', 'only records first seen up to that time')
    .option('--created-from <time>', 'domains first observed after that time')
    .option('--created-to <time>', 'domains first observed up to that time')
    .option('--changed-from <time>', 'domains that last changed after that time')
    .option('--changed-to <time>', 'domains that last changed up to that time')
    .option('--limit <number>', 'at most so many matches (default: all)', wholeNumber(1, 1e15 - 1))
    .option(...JSON_LINES)
    .addHelpText('after', SEARCHING)
    .runs(async () => (await import('./commands/search.js')).runSearch);
  add('follow', 'show changes as they are recorded, until Ctrl-C, which prints how to continue')
    .argument('[domain...]', `only changes of these domains, *.NAME for all below it; ${NAMES_ON_INPUT}`)
    .changeOptions()
    .option('--after <cursor>', 'begin after that cursor, of --json or of a dms follow with the same options')
    .option(...JSON_LINES)
    .choice(...COLOR)
    .runs(async () => (await import('./commands/follow.js')).runFollow);
  add('check', 'compare what should be with what is recorded, or is there now')
    .argument('<file>', 'what should be; - for standard input; gzip and xz are decompressed')
    .choice(FORMAT, CHECK_FORMATS, 'of the file; auto: told by how it begins')
    .option('--origin <name>', 'the name of the zone, for a zone file without $ORIGIN')
    .option(AT, 'with what was there at that time', parseReachedTime)
    .flag('--observe', 'at', 'with what is observed now, as dms observe does; nothing is recorded')
    .option(...JSON_LINES)
    .addHelpText('after', `${TIMES}\n${CHECK_CODES}`)
    .runs(async () => (await import('./commands/check.js')).runCheck);
}

/** Passive DNS tells of no absence. */
const OBSERVATIONS = IMPORT_FORMATS.filter((format) => format !== 'cof');
const CHECK_FORMATS = ['auto', 'zone', 'yaml', 'json', ...OBSERVATIONS];

const CHECK_CODES = `
Of what differs, - should be and is not, + is and should not be.

Exit code: 0 if all is as it should be; 1 if it differs; 2 if it could not be compared, as
for a file that cannot be read or is not valid, or a usage error.`;

function addHistory(add: Add): void {
  add('export', 'write recorded history to standard output, in a format of docs/commands.md')
    .argument('[domain...]', `domains to export (default: all); ${NAMES_ON_INPUT}`)
    .choice(FORMAT, ['dms', 'cof', 'csv', 'zone'], 'output format')
    .option(AT, 'what was there then; dms: the observations up to then, which lead to that', parseReachedTime)
    .option('--types <type,...>', 'only records of these types, and no headers', collectTypes)
    .option('--present', 'only what is present, or was at the time of --at', false)
    .option(...FROM_FILE)
    .addHelpText('after', TIMES)
    .runs(async () => (await import('./commands/export.js')).runExport);
  add('forget', 'erase everything that is recorded of domains, after confirmation; it cannot be undone')
    .argument('<domain...>', `domains to erase; ${NAMES_ON_INPUT}, and needs --yes`)
    .option('--yes', 'do not ask', false)
    .runs(async () => (await import('./commands/forget.js')).runForget);
}

function addUpkeep(add: Add): void {
  add('token', 'manage the access tokens that protected operations need');
  add('token create', 'create an access token and print it, only this once: the database keeps its SHA-256')
    .requiredOption('--name <name>', 'name of the token, unique among all tokens')
    .addOption(
      new Option('--scope <scope>', 'what it may do; separated by commas, or repeated (default: all of them)')
        .choices(SCOPES)
        .argParser(collectScopes),
    )
    .option('--expires <duration>', 'lifetime, such as 90d, 12h or 30m (default: unlimited)', parseDuration)
    .runs(async () => (await import('./commands/token.js')).runCreate);
  add('token list', 'show all tokens and what is known of them, but not the tokens themselves')
    .option(...JSON_LINES)
    .runs(async () => (await import('./commands/token.js')).runList);
  add('token revoke', 'revoke a token permanently: within five seconds every process rejects it')
    .argument('<name>', "the token's name")
    .runs(async () => (await import('./commands/token.js')).runRevoke);
  add('doctor', 'check what the settings name, and say what to do; it changes nothing')
    .option(...JSON_LINES)
    .runs(async () => (await import('./commands/doctor.js')).runDoctor);
  add('backup', 'write a backup of the embedded database, tokens included, while the service keeps running')
    .argument('<file>', 'the file to write, a .tar.gz archive; - for standard output')
    .option('--force', 'replace the file if it exists', false)
    .runs(async () => (await import('./commands/backup.js')).runBackup);
  add('restore', 'restore a backup into a data folder (DATA_DIR) that has no database')
    .argument('<file>', 'the backup; - for standard input')
    .runs(async () => (await import('./commands/backup.js')).runRestore);
  add('migrate', 'bring the database up to date, or divide its tables: see docs/scaling.md')
    // With more partitions, planning a statement that reads all of them takes longer than they save.
    .option('--partitions <number>', 'divide the tables of domains into 2 to 256 parts', wholeNumber(2, 256))
    .flag('--citus', 'partitions', 'distribute the tables of domains over the nodes of a Citus cluster')
    .runs(async () => (await import('./commands/migrate.js')).runMigrate);
  add('verify', 'check everything that is stored')
    .option(...JSON_LINES)
    .runs(async () => (await import('./commands/verify.js')).runVerify);
  add('completion', 'print the script with which a shell completes commands: see docs/commands.md')
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish']))
    .runs(async () => (await import('./commands/completion.js')).runCompletion);
  add('complete', 'print what may be written next: the scripts of dms completion call it', { hidden: true })
    .argument('<line>', 'the command line up to the cursor')
    .runs(async () => (await import('./commands/completion.js')).runComplete);
}
