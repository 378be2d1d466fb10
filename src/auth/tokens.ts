import type { PrismaClient } from '../database/generated/client.js';
import { OperationError } from '../model/errors.js';
import { formatInstant, type Instant } from '../model/instant.js';
import { digestOf, newAccessToken } from './access-token.js';
import type { Scope } from './viewer.js';

/** What a new token is to be. */
export interface NewToken {
  /** Unique among all tokens, revoked ones included. */
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly createdAt: Instant;
  /** Null: it does not expire. */
  readonly expiresAt: Instant | null;
}

/** What is known of a token: neither it nor its digest. */
export interface TokenDescription {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly createdAt: Instant;
  readonly expiresAt: Instant | null;
  /** To the minute; null: never used. */
  readonly lastUsed: Instant | null;
  readonly revokedAt: Instant | null;
}

/** Whether a text can be a token's name: it stands in one line of a table, and is typed again to revoke it. */
export function isTokenName(text: string): boolean {
  return /^[\p{L}\p{N}][\p{L}\p{N} ._@:/+-]{0,63}$/u.test(text) && text.trim() === text;
}

/**
 * Makes a token.
 *
 * @returns the token, which is kept nowhere.
 * @throws OperationError where there is one of this name, or was.
 */
export async function createToken(prisma: PrismaClient, token: NewToken): Promise<string> {
  const text = newAccessToken();
  const row = { ...token, scopes: [...token.scopes], digest: digestOf(text) };
  const { count } = await prisma.accessToken.createMany({ data: [row], skipDuplicates: true });
  if (count === 0) throw await nameTaken(prisma, token.name);
  return text;
}

/** Takes back a token that nobody has seen: there is no trace of it then, and its name is free. */
export async function withdrawToken(prisma: PrismaClient, text: string): Promise<void> {
  await prisma.accessToken.deleteMany({ where: { digest: digestOf(text) } });
}

async function nameTaken(prisma: PrismaClient, name: string): Promise<OperationError> {
  const revokedAt = (await prisma.accessToken.findUnique({ where: { name } }))?.revokedAt ?? null;
  return new OperationError(
    revokedAt === null
      ? `There is a token named ${JSON.stringify(name)}: choose another name.`
      : `The token named ${JSON.stringify(name)} was revoked at ${formatInstant(revokedAt)}, and no name is used twice: choose another name.`,
  );
}

/** All tokens, revoked and expired ones too, in the order of their making. */
export async function listTokens(prisma: PrismaClient): Promise<readonly TokenDescription[]> {
  return prisma.accessToken.findMany({
    omit: { digest: true },
    orderBy: [{ createdAt: 'asc' }, { name: 'asc' }],
  });
}

/**
 * Revokes a token for good; once more changes nothing.
 *
 * @returns when it was revoked: earlier than `now` if it had been before.
 * @throws OperationError where there is none of this name.
 */
export async function revokeToken(prisma: PrismaClient, name: string, now: Instant): Promise<Instant> {
  await prisma.accessToken.updateMany({ where: { name, revokedAt: null }, data: { revokedAt: now } });
  const revokedAt = (await prisma.accessToken.findUnique({ where: { name } }))?.revokedAt ?? null;
  if (revokedAt !== null) return revokedAt;
  throw new OperationError(
    `There is no token named ${JSON.stringify(name)}: dms token list shows those there are.`,
  );
}
