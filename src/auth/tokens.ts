import { createHash, randomBytes } from 'node:crypto';
import type { PrismaClient } from '../database/generated/client.js';
import { OperationError } from '../model/errors.js';
import { formatInstant, type Instant } from '../model/instant.js';
import type { Scope } from './viewer.js';

const PREFIX = 'dms_';
const RANDOM_BYTES = 32;
const FORM = /^dms_[A-Za-z0-9_-]{43}$/;

/** A new token: `dms_` and 256 random bits in base64url. */
export function newAccessToken(): string {
  return PREFIX + randomBytes(RANDOM_BYTES).toString('base64url');
}

/** Whether a text has the form of our tokens. */
export function isAccessToken(text: string): boolean {
  return FORM.test(text);
}

/** What is stored of a token: the SHA-256 of its text. With 256 random bits it needs no salt. */
export function digestOf(token: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(createHash('sha256').update(token).digest());
}

/** A token to create. */
export interface NewToken {
  /** Unique among all tokens, revoked ones included. */
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly createdAt: Instant;
  /** Null: it does not expire. */
  readonly expiresAt: Instant | null;
}

/** A stored token, without its digest. */
export interface TokenDescription {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly createdAt: Instant;
  readonly expiresAt: Instant | null;
  /** To the minute; null: never used. */
  readonly lastUsed: Instant | null;
  readonly revokedAt: Instant | null;
}

/** Whether a text can be a token's name: it is shown in a table, and typed to revoke the token. */
export function isTokenName(text: string): boolean {
  return /^[\p{L}\p{N}][\p{L}\p{N} ._@:/+-]{0,63}$/u.test(text) && text.trim() === text;
}

/**
 * Creates a token.
 *
 * @returns the token, which is not stored.
 * @throws OperationError where the name is in use, or was.
 */
export async function createToken(prisma: PrismaClient, token: NewToken): Promise<string> {
  const text = newAccessToken();
  const row = { ...token, scopes: [...token.scopes], digest: digestOf(text) };
  const { count } = await prisma.accessToken.createMany({ data: [row], skipDuplicates: true });
  if (count === 0) throw await nameTaken(prisma, token.name);
  return text;
}

/** Deletes a token that was never shown: its name is free again. */
export async function withdrawToken(prisma: PrismaClient, text: string): Promise<void> {
  await prisma.accessToken.deleteMany({ where: { digest: digestOf(text) } });
}

async function nameTaken(prisma: PrismaClient, name: string): Promise<OperationError> {
  const revokedAt = (await prisma.accessToken.findUnique({ where: { name } }))?.revokedAt ?? null;
  return new OperationError(
    revokedAt === null
      ? `A token named ${JSON.stringify(name)} exists: choose another name.`
      : `The token named ${JSON.stringify(name)} was revoked at ${formatInstant(revokedAt)}, and names are not reused: choose another name.`,
  );
}

/** All tokens, also revoked and expired ones, by the time of their creation. */
export async function listTokens(prisma: PrismaClient): Promise<readonly TokenDescription[]> {
  return prisma.accessToken.findMany({
    omit: { digest: true },
    orderBy: [{ createdAt: 'asc' }, { name: 'asc' }],
  });
}

/**
 * Revokes a token permanently. Revoking it again changes nothing.
 *
 * @returns when it was revoked: before `now` if it was already.
 * @throws OperationError where no token has this name.
 */
export async function revokeToken(prisma: PrismaClient, name: string, now: Instant): Promise<Instant> {
  await prisma.accessToken.updateMany({ where: { name, revokedAt: null }, data: { revokedAt: now } });
  const revokedAt = (await prisma.accessToken.findUnique({ where: { name } }))?.revokedAt ?? null;
  if (revokedAt !== null) return revokedAt;
  throw new OperationError(`No token is named ${JSON.stringify(name)}: dms token list shows all tokens.`);
}
