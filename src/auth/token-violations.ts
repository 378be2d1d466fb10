import type { PrismaClient } from '../database/generated/client.js';
import { EARLIEST_INSTANT, LATEST_INSTANT } from '../model/instant.js';
import { quoted } from '../model/text.js';
import { isTokenName, type TokenDescription } from './tokens.js';
import { SCOPES } from './viewer.js';

const DIGEST_BYTES = 32;

export async function findTokenViolations(prisma: PrismaClient): Promise<string[]> {
  const rows = await prisma.accessToken.findMany({ orderBy: { name: 'asc' } });
  return rows.flatMap((row) =>
    [...violationsIn(row)].map((violation) => `token ${quoted(row.name)}: ${violation}`),
  );
}

function* violationsIn(row: TokenDescription & { readonly digest: Uint8Array }): Generator<string> {
  const { name, digest, scopes, createdAt, expiresAt } = row;
  if (!isTokenName(name)) yield 'its name is not valid';
  if (digest.length !== DIGEST_BYTES)
    yield `its digest has ${digest.length} bytes, and a SHA-256 has ${DIGEST_BYTES}`;
  const known: readonly string[] = SCOPES;
  for (const scope of scopes) {
    if (!known.includes(scope)) yield `there is no scope ${quoted(scope)}`;
  }
  if (new Set(scopes).size !== scopes.length) yield 'it has a scope twice';
  if (expiresAt !== null && expiresAt <= createdAt) yield 'it expires before it was made';
  for (const time of [createdAt, expiresAt, row.lastUsed, row.revokedAt]) {
    if (time !== null && (time < EARLIEST_INSTANT || time > LATEST_INSTANT)) {
      yield `it has the time ${time} µs, outside the years 0000 to 9999`;
    }
  }
}
