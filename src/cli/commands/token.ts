import {
  createToken,
  isTokenName,
  listTokens,
  revokeToken,
  type TokenDescription,
  withdrawToken,
} from '../../auth/tokens.js';
import { SCOPES, type Scope } from '../../auth/viewer.js';
import { OperationError, UsageError } from '../../model/errors.js';
import { formatInstant, type Instant } from '../../model/instant.js';
import type { CommandContext } from '../command-context.js';
import { type Listing, timeText, writeList, writeText } from '../output.js';

interface CreateOptions {
  readonly name: string;
  readonly scope?: readonly Scope[];
  /** In microseconds. */
  readonly expires?: bigint;
}

export async function runCreate(context: CommandContext, options: CreateOptions): Promise<void> {
  const name = requireName(options.name);
  const scopes = options.scope ?? SCOPES;
  await context.withDatabase('create', async ({ prisma, createdNow, place }) => {
    if (createdNow) context.notes.write(newDatabaseText(place));
    const createdAt = context.now();
    const expiresAt = options.expires === undefined ? null : createdAt + options.expires;
    const token = await createToken(prisma, { name, scopes, createdAt, expiresAt });
    await writeText(context.stdout, `${token}\n`).catch(async (error: Error) => {
      await withdrawToken(prisma, token);
      throw new OperationError(`No token was created: ${error.message}`);
    });
    context.notes.write(
      `This is the only time it is shown. Send it as: Authorization: Bearer <token> (${scopes.join(', ')})\n`,
    );
  });
}

/** A token is of use only to the service whose database has it. */
function newDatabaseText(place: string): string {
  return `There was no database: a new one was created (${place}). If the service uses another one, set DATA_DIR or DATABASE_URL as it does, and create the token there.\n`;
}

function requireName(text: string): string {
  if (isTokenName(text)) return text;
  throw new UsageError(
    `${JSON.stringify(text)} is not a valid token name: write 1 to 64 letters, digits, spaces and . _ @ : / + -, beginning with a letter or digit.`,
  );
}

export async function runList(context: CommandContext, { json }: { json: boolean }): Promise<void> {
  await context.withDatabase('fail', async ({ prisma }) => {
    const count = await writeList(context.stdout, [await listTokens(prisma)], listingAt(context.now()), json);
    if (count === 0)
      context.notes.write('There are no tokens. To create one: dms token create --name NAME\n');
  });
}

export async function runRevoke(context: CommandContext, name: string): Promise<void> {
  await context.withDatabase('fail', async ({ prisma }) => {
    const now = context.now();
    const revokedAt = await revokeToken(prisma, name, now);
    const isNew = revokedAt === now;
    const before = `${name} was revoked before, at ${formatInstant(revokedAt)}\n`;
    await context.sumUp(isNew ? `revoked ${name}\n` : before);
  });
}

function listingAt(now: Instant): Listing<TokenDescription> {
  const shown = (time: Instant | null) => (time === null ? 'never' : timeText(time));
  const written = (time: Instant | null) => (time === null ? null : formatInstant(time));
  return {
    headings: ['name', 'scopes', 'created', 'expires', 'last used', 'state'],
    row: (token) => {
      const { name, scopes, createdAt, expiresAt, lastUsed } = token;
      const times = [createdAt, expiresAt, lastUsed].map(shown);
      return [name, scopes.join(' '), ...times, state(token, now)];
    },
    json: (token) => {
      const { name, scopes, createdAt, expiresAt, lastUsed, revokedAt } = token;
      const ends = { lastUsed: written(lastUsed), revokedAt: written(revokedAt), state: state(token, now) };
      return { name, scopes, createdAt: written(createdAt), expiresAt: written(expiresAt), ...ends };
    },
  };
}

function state({ revokedAt, expiresAt }: TokenDescription, now: Instant): string {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && expiresAt <= now ? 'expired' : 'valid';
}
