import { type DestinationStream, destination, type Logger, pino } from 'pino';
import { redactorOf } from './redact.js';

export type { Logger } from 'pino';

interface LoggingOptions {
  readonly level: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** Absent: standard error. */
  readonly stream?: DestinationStream;
  /** Of this process, redacted in every line. */
  readonly secrets?: readonly string[];
}

/** In octets: parts of longer writes of several processes to one pipe mix (POSIX, limits.h). */
const PIPE_BUF = 4_096;

/**
 * One JSON object a line, with `time` in milliseconds since the epoch and `level` by name; what looks like a
 * secret is redacted. Lines are written asynchronously, the last ones when the process exits.
 */
export function createLogger({ level, stream, secrets = [] }: LoggingOptions): Logger {
  const formatters = { level: (label: string) => ({ level: label }) };
  const options = { level, base: null, formatters, hooks: { streamWrite: redactorOf(secrets) } };
  return pino(options, stream ?? destination({ fd: 2, sync: false, maxWrite: PIPE_BUF }));
}
