import { OperationError } from '../model/errors.js';
import { codesOf, isDatabaseFailure } from './database-failure.js';

/** What to tell of the failures that somebody has to mend. */
const EXPLANATIONS: readonly (readonly [codes: RegExp, text: string])[] = [
  [
    /^25006$/,
    'The database is read-only, so nothing can be written to it now: it may be a replica, or on its way to another server. Set DATABASE_URL to one that can be written to, or wait',
  ],
  [/^(?:53100|58030)$/, 'The disk of the database is full or fails: make room on it, and start again'],
  [
    /^(?:53300|TooManyConnections)$/,
    'The database has no connection left: end other programs that use it, or raise its max_connections',
  ],
];

/**
 * What a database that is away, full or read-only has to be told as: what it is and what to do, in one line
 * with the driver's own message at its end.
 *
 * @returns null for any other error.
 */
export function explainFailure(error: unknown): string | null {
  if (!(error instanceof Error) || error instanceof OperationError || !isDatabaseFailure(error)) return null;
  const codes = codesOf(error);
  const [, text] = EXPLANATIONS.find(([pattern]) => codes.some((code) => pattern.test(code))) ?? [
    null,
    'The database went away or does not answer: start again when it does',
  ];
  return `${text} (${lastLineOf(error)}).`;
}

/** Prisma puts lines of its own before the database's message. */
function lastLineOf({ message, name }: Error): string {
  const line = message.trim().split('\n').at(-1) ?? '';
  return (line === '' ? name : line).trim().replace(/\.$/, '');
}
