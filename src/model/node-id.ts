import { hash } from 'node:crypto';
import { attempt } from './attempt.js';
import { parseDomainName } from './domain-name.js';
import { invalidParameter, type PublicError } from './errors.js';
import type { Instant } from './instant.js';

const KINDS = ['domain', 'record', 'header', 'change'] as const;

export interface NodeName {
  readonly kind: (typeof KINDS)[number];
  readonly domain: string;
  /** As of when it was asked for; undefined: now. So no cache takes the past for the present. */
  readonly at: Instant | undefined;
  /** What tells it from others of its kind at its domain: texts without line ends. */
  readonly key: readonly string[];
}

export function writeNodeId({ kind, domain, at, key }: NodeName): string {
  return Buffer.from([kind[0], domain, at ?? '', ...key].join('\n')).toString('base64url');
}

/** Whether the key is one of its kind is not checked. @throws PublicError INVALID_PARAMETER */
export function readNodeId(id: string): NodeName {
  const [letter, domain = '', at = '', ...key] = Buffer.from(id, 'base64url').toString().split('\n');
  const kind = KINDS.find((each) => each[0] === letter);
  const isDomain = attempt(() => parseDomainName(domain)) === domain;
  const isKey = kind === 'domain' ? key.length === 0 : !key.join().includes('\0');
  if (kind === undefined || !isDomain || !isKey) throw noId();
  const name = { kind, domain, at: at === '' ? undefined : instantOfKey(at), key };
  // Base64url and numbers may be written in several ways, of which one is an id.
  if (writeNodeId(name) !== id) throw noId();
  return name;
}

/** @throws PublicError INVALID_PARAMETER */
export function instantOfKey(text = ''): Instant {
  if (!/^-?\d{1,18}$/.test(text)) throw noId();
  return BigInt(text);
}

function noId(): PublicError {
  return invalidParameter('id: this is not an id. Use one of a response, as it was given.');
}

export const LENGTH_OF_DIGEST = 16;

/**
 * Tells a DNS record from others of its domain first seen then. loaders/search-records.ts has the same in SQL.
 *
 * @param parts Its type, class, owner name, and its rdata as the JSON text that is stored.
 */
export function digestOfRecord(...parts: readonly [string, string, string, string]): string {
  return hash('sha256', parts.join(' ')).slice(0, LENGTH_OF_DIGEST);
}
