import { type DestinationStream, destination, type Logger, pino } from 'pino';

export type { Logger } from 'pino';

/** What a log is made of. */
export interface LoggingOptions {
  readonly level: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** Where its lines go; absent: standard error. */
  readonly stream?: DestinationStream | undefined;
}

/**
 * The program's log: one JSON object a line, with `time` in milliseconds since the epoch and `level` by
 * name. Lines are written while requests go on, and what is left is written when the process exits.
 */
export function createLogger({ level, stream }: LoggingOptions): Logger {
  const options = {
    level,
    base: null,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  return pino(options, stream ?? destination({ fd: 2, sync: false }));
}
