import { Command, Option } from 'commander';
import { createToken, isTokenName, listTokens, revokeToken, withdrawToken } from '../../auth/tokens.js';
import { SCOPES, type Scope } from '../../auth/viewer.js';
import { splitList } from '../../config/parse.js';
import type { Database } from '../../database/client.js';
import { OperationError, UsageError } from '../../model/errors.js';
import { formatInstant } from '../../model/instant.js';
import type { CommandContext, OpenOptions } from '../command-context.js';
import { parseDuration } from '../duration.js';
import { writeText } from '../write-text.js';
import { tokenTable } from './token-table.js';

interface CreateOptions {
  readonly name: string;
  readonly scope?: readonly Scope[];
  readonly expires?: string;
}

/** `dms token create|list|revoke`: access tokens. */
export function tokenCommand(context: CommandContext): Command {
  return new Command('token')
    .summary('manage access tokens')
    .description('Manages the access tokens that protected operations need.')
    .addCommand(createCommand(context))
    .addCommand(listCommand(context))
    .addCommand(revokeCommand(context));
}

function createCommand(context: CommandContext): Command {
  return new Command('create')
    .summary('make a token and print it, once')
    .description('Makes an access token and prints it, this once: the database keeps only its SHA-256.')
    .requiredOption('--name <name>', 'what to call it; no two tokens have the same name')
    .addOption(
      new Option(
        '--scope <scope>',
        'what it may do; several between commas, or repeated (default: all of them)',
      )
        .choices(SCOPES)
        .argParser(collectScopes),
    )
    .option('--expires <duration>', 'when it stops working, such as 90d, 12h or 30m (default: never)')
    .action((options: CreateOptions) => runCreate(context, options));
}

function listCommand(context: CommandContext): Command {
  return new Command('list')
    .summary('show the tokens')
    .description('Shows all tokens and what is known of them, but not the tokens themselves.')
    .action(() => runList(context));
}

function revokeCommand(context: CommandContext): Command {
  return new Command('revoke')
    .summary('revoke a token')
    .description('Revokes a token for good: within five seconds every process refuses it.')
    .argument('<name>', "the token's name")
    .action((name: string) => runRevoke(context, name));
}

/** Commander's own check of choices is lost when several values are collected. */
function collectScopes(text: string, previous: readonly Scope[] = []): readonly Scope[] {
  const parts = splitList(text);
  return [...previous, ...(parts.length === 0 ? [text] : parts).map(parseScope)];
}

function parseScope(text: string): Scope {
  const scope = SCOPES.find((candidate) => candidate === text);
  if (scope !== undefined) return scope;
  throw new UsageError(`${JSON.stringify(text)} is no scope: write some of ${SCOPES.join(', ')}.`);
}

async function runCreate(context: CommandContext, options: CreateOptions): Promise<void> {
  const name = requireName(options.name);
  const lifetime = options.expires === undefined ? null : parseDuration(options.expires);
  const scopes = SCOPES.filter((scope) => options.scope === undefined || options.scope.includes(scope));
  await withDatabase(context, {}, async ({ prisma, createdNow, place }) => {
    if (createdNow) context.stderr.write(newDatabaseText(place));
    const createdAt = context.now();
    const expiresAt = lifetime === null ? null : createdAt + lifetime;
    const token = await createToken(prisma, { name, scopes, createdAt, expiresAt });
    await writeText(context.stdout, `${token}\n`).catch(async (error: Error) => {
      await withdrawToken(prisma, token);
      throw new OperationError(`No token was made: ${error.message}`);
    });
    context.stderr.write(
      `This is the only time it is shown. Send it as: Authorization: Bearer <token> (${scopes.join(', ')})\n`,
    );
  });
}

/** A token is of use only to the service whose database has it. */
function newDatabaseText(place: string): string {
  return `There was no database: a new one was made (${place}). If the service has another one, set DATA_DIR or DATABASE_URL as it does, and make the token there.\n`;
}

function requireName(text: string): string {
  if (isTokenName(text)) return text;
  throw new UsageError(
    `${JSON.stringify(text)} is no name for a token: write 1 to 64 letters, digits, spaces and . _ @ : / + -, beginning with a letter or digit.`,
  );
}

async function runList(context: CommandContext): Promise<void> {
  await withDatabase(context, { mayCreate: false }, async ({ prisma }) => {
    const tokens = await listTokens(prisma);
    if (tokens.length === 0) context.stderr.write('There are no tokens: dms token create makes one.\n');
    else context.stdout.write(tokenTable(tokens, context.now()));
  });
}

async function runRevoke(context: CommandContext, name: string): Promise<void> {
  await withDatabase(context, { mayCreate: false }, async ({ prisma }) => {
    const now = context.now();
    const revokedAt = await revokeToken(prisma, name, now);
    if (revokedAt === now) context.stdout.write(`revoked ${name}\n`);
    else context.stdout.write(`${name} was revoked before, at ${formatInstant(revokedAt)}\n`);
  });
}

async function withDatabase(
  context: CommandContext,
  options: OpenOptions,
  work: (database: Database) => Promise<void>,
) {
  const database = await context.openDatabase(options);
  try {
    await work(database);
  } finally {
    await database.close();
  }
}
