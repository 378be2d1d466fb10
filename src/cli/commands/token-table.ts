import type { TokenDescription } from '../../auth/tokens.js';
import { formatInstant, type Instant } from '../../model/instant.js';

const HEADINGS = ['name', 'scopes', 'created', 'expires', 'last used', 'state'];

/** The tokens as a table for a person, with times in UTC to the second. */
export function tokenTable(tokens: readonly TokenDescription[], now: Instant): string {
  const rows = [HEADINGS, ...tokens.map((token) => tokenRow(token, now))];
  const widths = HEADINGS.map((_heading, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) => row.map((text, column) => text.padEnd(widths[column] ?? 0)).join('  '));
  return lines.map((line) => `${line.trimEnd()}\n`).join('');
}

function tokenRow(token: TokenDescription, now: Instant): string[] {
  return [
    token.name,
    token.scopes.join(' '),
    time(token.createdAt),
    token.expiresAt === null ? 'never' : time(token.expiresAt),
    token.lastUsed === null ? 'never' : time(token.lastUsed),
    state(token, now),
  ];
}

function state({ revokedAt, expiresAt }: TokenDescription, now: Instant): string {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && expiresAt <= now ? 'expired' : 'valid';
}

function time(instant: Instant): string {
  return `${formatInstant(instant).slice(0, 19)}Z`;
}
