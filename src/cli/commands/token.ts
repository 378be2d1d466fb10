import { createToken, isTokenName, listTokens, revokeToken, withdrawToken } from '../../auth/tokens.js';
import { SCOPES, type Scope } from '../../auth/viewer.js';
import { OperationError, UsageError } from '../../model/errors.js';
import { formatInstant, type Instant } from '../../model/instant.js';
import { type CommandContext, now } from '../command-context.js';
import { timestampOrNull, timeText, writeList, writeText } from '../output.js';

/** `expires` is in microseconds. */
export async function runCreate(
  context: CommandContext,
  { name, scope: scopes = SCOPES, expires }: { name: string; scope?: readonly Scope[]; expires?: bigint },
): Promise<void> {
  if (!isTokenName(name)) {
    const valid = '1 to 64 letters, digits, spaces and . _ @ : / + -, beginning with a letter or digit';
    throw new UsageError(`${JSON.stringify(name)} is not a valid token name: write ${valid}.`);
  }
  await context.withDatabase('create', async ({ prisma, createdNow, place }) => {
    // A token is of use only to the service whose database has it.
    if (createdNow) {
      context.note(
        `There was no database: a new one was created (${place}). If the service uses another one, set DATA_DIR ` +
          'or DATABASE_URL as it does, and create the token there.\n',
      );
    }
    const createdAt = now();
    const expiresAt = expires === undefined ? null : createdAt + expires;
    const token = await createToken(prisma, { name, scopes, createdAt, expiresAt });
    await writeText(context.stdout, `${token}\n`).catch(async (error: Error) => {
      await withdrawToken(prisma, token);
      throw new OperationError(`No token was created: ${error.message}`);
    });
    context.note(
      `This is the only time it is shown. Send it as: Authorization: Bearer <token> (${scopes.join(', ')})\n`,
    );
  });
}

export async function runList(context: CommandContext, { json: asJson }: { json: boolean }): Promise<void> {
  const shown = (time: Instant | null) => (time === null ? 'never' : timeText(time));
  await context.withDatabase('fail', async ({ prisma }) =>
    writeList(context, [await listTokens(prisma)], asJson, {
      headings: ['name', 'scopes', 'created', 'expires', 'last used', 'state'],
      row: ({ name, scopes, createdAt, expiresAt, lastUsed, revokedAt }) => {
        const times = [createdAt, expiresAt, lastUsed].map(shown);
        return [name, scopes.join(' '), ...times, stateOf(revokedAt, expiresAt)];
      },
      json: ({ name, scopes, createdAt, expiresAt, lastUsed, revokedAt }) => ({
        name,
        scopes,
        createdAt: formatInstant(createdAt),
        expiresAt: timestampOrNull(expiresAt),
        lastUsed: timestampOrNull(lastUsed),
        revokedAt: timestampOrNull(revokedAt),
        state: stateOf(revokedAt, expiresAt),
      }),
      none: 'There are no tokens. To create one: dms token create --name NAME',
    }),
  );
}

function stateOf(revokedAt: Instant | null, expiresAt: Instant | null): 'revoked' | 'expired' | 'valid' {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && expiresAt <= now() ? 'expired' : 'valid';
}

export async function runRevoke(context: CommandContext, name: string): Promise<void> {
  await context.withDatabase('fail', async ({ prisma }) => {
    const time = now();
    const revokedAt = await revokeToken(prisma, name, time);
    const before = `${name} was revoked before, at ${formatInstant(revokedAt)}\n`;
    await context.sumUp(revokedAt === time ? `revoked ${name}\n` : before);
  });
}
