import { type DestinationStream, destination, type Logger, pino } from 'pino';
import { redactorOf } from './redact.js';

export type { Logger } from 'pino';

/** What a log is made of. */
export interface LoggingOptions {
  readonly level: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** Where its lines go; absent: standard error. */
  readonly stream?: DestinationStream | undefined;
  /** Secrets of this process, which no line is to hold. */
  readonly secrets?: readonly string[] | undefined;
}

/**
 * The program's log: one JSON object a line, with `time` in milliseconds since the epoch and `level` by
 * name. What looks like a secret is left out of every line, whoever wrote it. Lines are written while
 * requests go on, and what is left is written when the process exits.
 */
export function createLogger({ level, stream, secrets = [] }: LoggingOptions): Logger {
  const options = {
    level,
    base: null,
    formatters: { level: (label: string) => ({ level: label }) },
    hooks: { streamWrite: redactorOf(secrets) },
  };
  return pino(options, stream ?? destination({ fd: 2, sync: false }));
}
