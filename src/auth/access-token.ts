import { createHash, randomBytes } from 'node:crypto';

const PREFIX = 'dms_';
const RANDOM_BYTES = 32;
const FORM = /^dms_[A-Za-z0-9_-]{43}$/;

/** A new token: `dms_` and 256 random bits in base64url. */
export function newAccessToken(): string {
  return PREFIX + randomBytes(RANDOM_BYTES).toString('base64url');
}

/** Whether a text can be a token of ours at all, known or not. */
export function isAccessToken(text: string): boolean {
  return FORM.test(text);
}

/** All that is kept of a token: the SHA-256 of its text. With 256 random bits it needs no salt. */
export function digestOf(token: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(createHash('sha256').update(token).digest());
}
