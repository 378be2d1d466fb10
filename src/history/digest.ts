import { hash } from 'node:crypto';
import type { DnsRecord } from '../model/dns-record.js';

/**
 * A digest of the records of one DNS type, in the order of compareDnsRecords: 22 characters (132 bits of
 * SHA-256 in base64url), since the owner of a domain must not be able to make two sets with one digest. Empty
 * for no records.
 */
export function digestOfRecords(records: readonly DnsRecord[]): string {
  if (records.length === 0) return '';
  return remembered(records, () => {
    let text = '';
    for (const record of records) text += `${record.host}\n${record.class}\n${record.rdata}\n`;
    return text;
  });
}

/**
 * A digest of response headers, in any order: 22 characters, empty for no headers.
 *
 * @param ignored the names that the observation leaves out. Those of them that `headers` has, since they
 *   were known before, follow the digest of all: the digest of the others, and their names. By these the next
 *   such observation is known to be equal, without the headers themselves.
 */
export function digestOfHeaders(headers: ReadonlyMap<string, string>, ignored?: ReadonlySet<string>): string {
  const all = digestOfAll(headers);
  if (ignored === undefined) return all;
  const unseen = [...headers.keys()].filter((name) => ignored.has(name)).sort();
  if (unseen.length === 0) return all;
  const seen = new Map([...headers].filter(([name]) => !ignored.has(name)));
  return `${all} ${digestOfAll(seen)} ${unseen.join(',')}`;
}

/** The names that follow a digest of headers. */
export function unseenOf(digest: string): readonly string[] {
  return digest.split(' ')[2]?.split(',') ?? [];
}

/** Whether headers, those that were ignored left out, are the ones that a digest is of. */
export function isDigestOf(
  digest: string,
  headers: ReadonlyMap<string, string>,
  ignored?: ReadonlySet<string>,
): boolean {
  const [all, seen] = digest.split(' ');
  const own = digestOfAll(headers);
  return own === all || (own === seen && unseenOf(digest).every((name) => ignored?.has(name)));
}

function digestOfAll(headers: ReadonlyMap<string, string>): string {
  if (headers.size === 0) return '';
  return remembered(headers, () =>
    JSON.stringify([...headers.keys()].sort().map((name) => [name, headers.get(name)])),
  );
}

/** By set: an importer that reads a line again, but for its time, gives the same sets. */
const digests = new WeakMap<object, string>();

function remembered(set: object, compute: () => string): string {
  const known = digests.get(set);
  if (known !== undefined) return known;
  const digest = hash('sha256', compute(), 'base64url').slice(0, 22);
  digests.set(set, digest);
  return digest;
}
