import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { formatHttpDate } from '../../model/http-date.js';

const PACKAGE = new URL('../../../package.json', import.meta.url);

const MICROSECONDS = 1_000_000n;

/** What a domain's recorded state is known by: as the stored operations select it. */
export interface RecordedState {
  readonly version: string;
}

/** What an answer can be revalidated by (RFC 9110, section 8.8). */
export interface Validators {
  readonly etag: string;
  /** Seconds since the Unix epoch. */
  readonly lastModified: number;
}

/**
 * What tells an operation's tags from those of others: another operation, another text of it, and another
 * release of the program may make another body of the same state.
 *
 * @param text The stored operation.
 */
export function tagOfOperation(text: string): string {
  const hash = createHash('sha256').update(readFileSync(PACKAGE)).update(text);
  return hash.digest('base64url').slice(0, 8);
}

/**
 * The validators of an operation's answer.
 *
 * The tag is weak: one tag stands for the answer in every content coding, which are not the same bytes
 * (RFC 9110, section 8.8.3.3), and a GET is revalidated by weak comparison.
 *
 * The time is that of the version, which is the microsecond of its recording or a later one, rounded up to a whole
 * second: each recording moves it forward (`leastNextVersion`), so that no date that a client was given before is
 * taken for the present state.
 */
export function validatorsOf({ version }: RecordedState, operationTag: string): Validators {
  const lastModified = Number((BigInt(version) + MICROSECONDS - 1n) / MICROSECONDS);
  return { etag: `W/"${version}-${operationTag}"`, lastModified };
}

/**
 * The field Last-Modified. It is never later than the answer's own time (RFC 9110, section 8.8.2.1).
 *
 * @param now In seconds since the Unix epoch.
 */
export function lastModifiedField({ lastModified }: Validators, now: number): string {
  return formatHttpDate(Math.min(lastModified, Math.floor(now)));
}
