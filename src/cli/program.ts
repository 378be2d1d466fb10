import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import type { CommandContext } from './command-context.js';
import { backupCommand } from './commands/backup.js';
import { exportCommand } from './commands/export.js';
import { forgetCommand } from './commands/forget.js';
import { importCommand } from './commands/import.js';
import { migrateCommand } from './commands/migrate.js';
import { observeCommand } from './commands/observe.js';
import { restoreCommand } from './commands/restore.js';
import { serveCommand } from './commands/serve.js';
import { tokenCommand } from './commands/token.js';
import { verifyCommand } from './commands/verify.js';
import { watchCommand } from './commands/watch.js';
import { workerCommand } from './commands/worker.js';

/** Every command of `dms`, in the order of its help. */
const COMMANDS: readonly ((context: CommandContext) => Command)[] = [
  serveCommand,
  workerCommand,
  observeCommand,
  watchCommand,
  importCommand,
  exportCommand,
  forgetCommand,
  tokenCommand,
  backupCommand,
  restoreCommand,
  migrateCommand,
  verifyCommand,
];

/** From src/ and from dist/ alike. */
const PACKAGE = new URL('../../package.json', import.meta.url);

/** The whole program, `dms`, for one run: commander keeps what it has parsed. */
export function createProgram(context: CommandContext): Command {
  const { version }: { readonly version: string } = JSON.parse(readFileSync(PACKAGE, 'utf8'));
  const program = new Command('dms')
    .version(version, '--version', 'show the version')
    .description('The memory of domains: their DNS records and HTTP response headers over time.')
    .addHelpText('after', '\nSettings come from the environment, and from a file .env: see the README.');
  for (const create of COMMANDS) program.addCommand(create(context));
  return program;
}
