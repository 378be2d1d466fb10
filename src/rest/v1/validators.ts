import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { parseHttpDate } from '../../model/http-date.js';

/** The text of package.json, from src/ and from dist/ alike. */
export const PACKAGE = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');

const MICROSECONDS = 1_000_000n;

/** What an answer is revalidated by (RFC 9110, section 8.8). */
export interface Validators {
  readonly etag: string;
  /** Seconds since the Unix epoch; infinite: not known. */
  readonly lastModified: number;
}

/** Another operation, text of it, or release of the program may make another body of the same state. */
export function tagOfOperation(text: string): string {
  const hash = createHash('sha256').update(PACKAGE).update(text);
  return hash.digest('base64url').slice(0, 8);
}

/**
 * The tag is weak: one tag stands for the answer in every content coding (RFC 9110, section 8.8.3.3).
 *
 * The time is that of the version, which is the microsecond of its recording or a later one, rounded up to a
 * whole second: each recording moves it forward (`leastNextVersion`), so that no date that a client was given
 * before is taken for the present state.
 */
export function validatorsOf(found: { readonly version?: string }, operationTag: string): Validators {
  const { version } = found;
  if (version === undefined) throw new Error('The stored operation must select version.');
  const lastModified = Number((BigInt(version) + MICROSECONDS - 1n) / MICROSECONDS);
  return { etag: `W/"${version}-${operationTag}"`, lastModified };
}

/** The validators of a body without a version: what changes it may be recorded long after its date. */
export function validatorsOfText(body: string | Buffer): Validators {
  const digest = createHash('sha256').update(body).digest('base64url').slice(0, 22);
  return { etag: `W/"${digest}"`, lastModified: Number.POSITIVE_INFINITY };
}

type Headers = Pick<IncomingHttpHeaders, 'if-none-match' | 'if-modified-since'>;

/** A tag of a list, in quotation marks (RFC 9110, section 8.8.3). In a weak comparison, `W/` is ignored. */
const TAG = /(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")/g;

/** Whether a request is about what the client has: it is read from the primary, which has all of that. */
export function isConditional(headers: Headers): boolean {
  return headers['if-none-match'] !== undefined || headers['if-modified-since'] !== undefined;
}

/** RFC 9110, section 13.2.2: If-None-Match decides where there is one, and otherwise If-Modified-Since. */
export function isUnmodified(headers: Headers, { etag, lastModified }: Validators): boolean {
  const noneMatch = headers['if-none-match'];
  if (noneMatch !== undefined) {
    const tags = [...noneMatch.matchAll(TAG)].map(([, tag]) => tag);
    return noneMatch.trim() === '*' || tags.includes(etag.replace('W/', ''));
  }
  const since = parseHttpDate(headers['if-modified-since'] ?? '', Date.now() / 1000);
  return since !== undefined && lastModified <= since;
}
