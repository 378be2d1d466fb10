import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('../../bin/dms.js', import.meta.url));

/** Settings of whoever runs the tests that must not reach the program. */
const FOREIGN =
  /^(DATABASE_URL|DATA_DIR|PORT|HOST|BASE_PATH|ROLE|LOG_LEVEL|SAMPLES|SHUTDOWN_TIMEOUT|(RATE_LIMIT|METRICS|OTEL)_.*)$/;

/** Settings of the program, beside those of its database. */
const SETTINGS = { SAMPLES: 'off', LOG_LEVEL: 'warn', RATE_LIMIT_ANONYMOUS: '1000000000' };

/** How a command ended, and what it said. */
export interface CommandResult {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A running `dms`. */
export interface DmsCommand {
  readonly child: ChildProcess;
  readonly result: Promise<CommandResult>;
}

/**
 * Starts the program as a user does.
 *
 * @param environment The settings of its database.
 * @param input What it reads from standard input; nothing if absent.
 */
export function startDms(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  input?: Readable,
): DmsCommand {
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    // A file .env of whoever runs the tests lies in the checkout, and must not be read.
    cwd: tmpdir(),
    env: { ...ownEnvironment(), ...SETTINGS, ...environment },
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  return { child, result: resultOf(child, input) };
}

/**
 * Runs the program by a line of bash, with what the line does to its output.
 *
 * @returns the code of the program, not that of the line.
 */
export function dmsInShell(
  line: string,
  environment: Readonly<Record<string, string>>,
): Promise<CommandResult> {
  const script = `"$0" "$1" ${line}; exit "\${PIPESTATUS[0]}"`;
  const child = spawn('bash', ['-c', script, process.execPath, PROGRAM], {
    cwd: tmpdir(),
    env: { ...ownEnvironment(), ...SETTINGS, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return resultOf(child, undefined);
}

/** Runs `npm start`, whose folder is the project's. */
export function startNpm(environment: Readonly<Record<string, string>>): DmsCommand {
  const child = spawn('npm', ['start'], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    env: { ...ownEnvironment(), ...SETTINGS, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return { child, result: resultOf(child, undefined) };
}

/** Runs the program to its end. */
export function runDms(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  input?: Readable,
): Promise<CommandResult> {
  return startDms(args, environment, input).result;
}

function ownEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !FOREIGN.test(name)));
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
