import { type DestinationStream, destination, type Logger, pino } from 'pino';
import { redactorOf } from './redact.js';

export type { Logger } from 'pino';

interface LoggingOptions {
  readonly level: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** Where its lines go; absent: standard error. */
  readonly stream?: DestinationStream | undefined;
  /** Secrets of this process, redacted in every line. */
  readonly secrets?: readonly string[] | undefined;
}

/**
 * In octets: what Linux writes to a pipe in one piece (POSIX, limits.h). Several processes may write to the
 * same one, and parts of longer writes would be between each other's lines.
 */
const PIPE_BUF = 4_096;

/**
 * The program's log: one JSON object a line, with `time` in milliseconds since the epoch and `level` by name.
 * What looks like a secret is redacted in every line. Lines are written asynchronously, the last ones when the
 * process exits.
 */
export function createLogger({ level, stream, secrets = [] }: LoggingOptions): Logger {
  const options = {
    level,
    base: null,
    formatters: { level: (label: string) => ({ level: label }) },
    hooks: { streamWrite: redactorOf(secrets) },
  };
  return pino(options, stream ?? destination({ fd: 2, sync: false, maxWrite: PIPE_BUF }));
}
