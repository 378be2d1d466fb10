import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { PassThrough, Readable } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { runCommand } from '../../src/cli/main.js';
import { readSettings } from '../../src/config/env.js';

export const PROGRAM = fileURLToPath(new URL('../../bin/dms.js', import.meta.url));

const SETTINGS = { SAMPLES: 'off', LOG_LEVEL: 'warn', RATE_LIMIT_ANONYMOUS: '1000000000' };

export interface CommandResult {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface DmsCommand {
  readonly child: ChildProcess;
  readonly result: Promise<CommandResult>;
}

type Environment = Readonly<Record<string, string>>;

/** Starts the program as a user does, with the settings of its database. */
export function startDms(args: readonly string[], environment: Environment, input?: Readable): DmsCommand {
  return start(process.execPath, [PROGRAM, ...args], environment, { input });
}

/** Runs the program by a line of bash. @returns the code of the program, not that of the line. */
export function dmsInShell(line: string, environment: Environment): Promise<CommandResult> {
  const script = `"$0" "$1" ${line}; exit "\${PIPESTATUS[0]}"`;
  return start('bash', ['-c', script, process.execPath, PROGRAM], environment).result;
}

export function startNpm(environment: Environment): DmsCommand {
  return start('npm', ['start'], environment, { cwd: fileURLToPath(new URL('../..', import.meta.url)) });
}

/** By default in a folder without a file .env, as that of the checkout must not be read. */
function start(
  program: string,
  args: readonly string[],
  environment: Environment,
  { input, cwd = tmpdir() }: { readonly input?: Readable | undefined; readonly cwd?: string } = {},
): DmsCommand {
  const child = spawn(program, args, {
    cwd,
    env: { ...ownEnvironment(), ...SETTINGS, ...environment },
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  return { child, result: resultOf(child, input) };
}

/**
 * Runs a command in the process of the test, which takes a hundredth of the time of a process of its own. What only
 * a process has is for startDms(): signals, its end while something is still open, TMPDIR, a file `.env`.
 *
 * @returns `stop` stops the command, as the first SIGINT to a process does.
 */
export function startLocalDms(args: readonly string[], environment: Environment, input = Readable.from([])) {
  // Octets, as a pipe has them.
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  // A command that stops early closes its input.
  pipeline(input, stdin).catch(() => {});
  const said = [textOf(stdout), textOf(stderr)].map((parts) => () => parts.join(''));
  let stop = () => {};
  const stopRequested = new Promise<'SIGINT'>((resolve) => {
    stop = () => resolve('SIGINT');
  });
  let code = 0;
  const ended = runCommand(args, {
    stdin,
    stdout,
    stderr,
    settings: () => readSettings({ ...ownEnvironment(), ...SETTINGS, ...environment }),
    setExitCode: (failure) => {
      code = failure;
    },
    stopRequested: () => stopRequested,
  });
  const result = ended.then(async (): Promise<CommandResult> => {
    for (const stream of [stdout, stderr]) await finished(stream.end());
    const [out = '', err = ''] = said.map((text) => text());
    return { code, signal: null, stdout: out, stderr: err };
  });
  return { stdout, stderr, result, stop };
}

/** Runs a command to its end, in the process of the test: see startLocalDms(). */
export function runDms(
  args: readonly string[],
  environment: Environment,
  input?: Readable,
): Promise<CommandResult> {
  return startLocalDms(args, environment, input).result;
}

function ownEnvironment(): NodeJS.ProcessEnv {
  // The server of the tests, of which each command gets a database, or none.
  const { DATABASE_URL: _, ...own } = process.env;
  return own;
}

async function resultOf(child: ChildProcess, input: Readable | undefined): Promise<CommandResult> {
  const stdout = textOf(child.stdout);
  const stderr = textOf(child.stderr);
  const closed = once(child, 'close');
  if (input !== undefined && child.stdin !== null) {
    // A program that stops early closes its input: its exit code says why.
    await pipeline(input, child.stdin).catch(() => {});
  }
  const [code, signal] = await closed;
  return { code, signal, stdout: stdout.join(''), stderr: stderr.join('') };
}

function textOf(stream: Readable | null): string[] {
  const parts: string[] = [];
  stream?.setEncoding('utf8').on('data', (part: string) => parts.push(part));
  return parts;
}
