import type { IncomingHttpHeaders } from 'node:http';
import { parseHttpDate } from '../../model/http-date.js';
import type { Validators } from './validators.js';

type Headers = Pick<IncomingHttpHeaders, 'if-none-match' | 'if-modified-since'>;

/** One tag of a list (RFC 9110, section 8.8.3): `W/` does not matter in a weak comparison. */
const TAG = /(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")/g;

/**
 * Whether a request may be answered 304, once the state of the domain is known.
 *
 * @param operationTag Of the operation: without a tag of it there is nothing to look for.
 */
export function mayBeUnmodified(headers: Headers, operationTag: string): boolean {
  const noneMatch = headers['if-none-match'];
  if (noneMatch === undefined) return headers['if-modified-since'] !== undefined;
  return isAny(noneMatch) || noneMatch.includes(`-${operationTag}"`);
}

/**
 * Whether the client has the state already (RFC 9110, section 13.2.2): If-None-Match decides where there is
 * one, and only without it If-Modified-Since, if that is a date.
 *
 * @param now In seconds since the Unix epoch.
 */
export function isUnmodified(headers: Headers, { etag, lastModified }: Validators, now: number): boolean {
  const noneMatch = headers['if-none-match'];
  if (noneMatch !== undefined) return isAny(noneMatch) || tagsOf(noneMatch).includes(etag.replace('W/', ''));
  const since = parseHttpDate(headers['if-modified-since'] ?? '', now);
  return since !== undefined && lastModified <= since;
}

function isAny(noneMatch: string): boolean {
  return noneMatch.trim() === '*';
}

/** The opaque tags, in their quotation marks. */
function tagsOf(list: string): string[] {
  return [...list.matchAll(TAG)].map(([, tag = '']) => tag);
}
