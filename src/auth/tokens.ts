import { createHash, randomBytes } from 'node:crypto';
import type { AccessToken, PrismaClient } from '../database/generated/client.js';
import { OperationError } from '../model/errors.js';
import type { Instant } from '../model/instant.js';
import type { Scope } from './viewer.js';

/** `dms_` and 256 bits in base64url. */
export function isAccessToken(text: string): boolean {
  return /^dms_[A-Za-z0-9_-]{43}$/.test(text);
}

/** What is stored of a token: the SHA-256 of its text. With 256 random bits it needs no salt. */
export function digestOf(token: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(createHash('sha256').update(token).digest());
}

/** A stored token, without its digest: `lastUsed` is to the minute. */
export type TokenDescription = Omit<AccessToken, 'digest'>;

/** Names are unique among all tokens, revoked ones included. */
type NewToken = Pick<TokenDescription, 'name' | 'createdAt' | 'expiresAt'> & {
  readonly scopes: readonly Scope[];
};

/** A name is shown in a table, and typed to revoke the token. */
export function isTokenName(text: string): boolean {
  return /^[\p{L}\p{N}][\p{L}\p{N} ._@:/+-]{0,63}$/u.test(text) && text.trim() === text;
}

/** @returns the token, which is not stored. @throws OperationError where the name is in use, or was. */
export async function createToken(prisma: PrismaClient, token: NewToken): Promise<string> {
  const text = `dms_${randomBytes(32).toString('base64url')}`;
  const row = { ...token, scopes: [...token.scopes], digest: digestOf(text) };
  const { count } = await prisma.accessToken.createMany({ data: [row], skipDuplicates: true });
  if (count > 0) return text;
  const name = JSON.stringify(token.name);
  throw new OperationError(
    `A token has the name ${name}, or had it until it was revoked: choose another name.`,
  );
}

/** Deletes a token that was never shown: its name is free again. */
export async function withdrawToken(prisma: PrismaClient, text: string): Promise<void> {
  await prisma.accessToken.deleteMany({ where: { digest: digestOf(text) } });
}

/** Also revoked and expired ones, by the time of their creation. */
export async function listTokens(prisma: PrismaClient): Promise<readonly TokenDescription[]> {
  return prisma.accessToken.findMany({
    omit: { digest: true },
    orderBy: [{ createdAt: 'asc' }, { name: 'asc' }],
  });
}

/** @returns when it was revoked, now or before. @throws OperationError where no token has this name. */
export async function revokeToken(prisma: PrismaClient, name: string, now: Instant): Promise<Instant> {
  await prisma.accessToken.updateMany({ where: { name, revokedAt: null }, data: { revokedAt: now } });
  const token = await prisma.accessToken.findUnique({ where: { name } });
  if (token?.revokedAt != null) return token.revokedAt;
  throw new OperationError(`No token is named ${JSON.stringify(name)}: dms token list shows all tokens.`);
}
