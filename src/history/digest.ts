import { hash } from 'node:crypto';
import type { DnsRecord } from '../model/dns-record.js';

/**
 * A digest of the records of one DNS type, which stand in the order of compareDnsRecords.
 *
 * @returns 22 characters (132 bits of SHA-256 in base64url): whoever controls a domain's records must
 *   not be able to make two sets that look alike. Empty for no records.
 */
export function digestOfRecords(records: readonly DnsRecord[]): string {
  if (records.length === 0) {
    return '';
  }
  return remembered(records, () => {
    let text = '';
    for (const record of records) {
      text += `${record.host}\n${record.class}\n${record.rdata}\n`;
    }
    return shortened(text);
  });
}

/**
 * A digest of response headers, in any order.
 *
 * @param headers field names in lower case to field values.
 * @returns 22 characters; empty for no headers.
 */
export function digestOfHeaders(headers: ReadonlyMap<string, string>): string {
  if (headers.size === 0) {
    return '';
  }
  return remembered(headers, () => {
    const names = [...headers.keys()].sort();
    return shortened(JSON.stringify(names.map((name) => [name, headers.get(name)])));
  });
}

/**
 * The digests of sets that are still in use: an importer that meets the same line again, but for its
 * time, gives the same sets again.
 */
const digests = new WeakMap<object, string>();

function remembered(set: object, compute: () => string): string {
  const known = digests.get(set);
  if (known !== undefined) {
    return known;
  }
  const digest = compute();
  digests.set(set, digest);
  return digest;
}

function shortened(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, 22);
}
