import { Command } from 'commander';
import { findViolations } from '../../history/violations.js';
import { OperationError } from '../../model/errors.js';
import { findOrphans } from '../../recorder/orphans.js';
import { readHistories } from '../../recorder/read-histories.js';
import type { CommandContext } from '../command-context.js';
import { showProgress } from '../progress.js';

/** `dms verify`: checks every invariant of what is stored. */
export function verifyCommand(context: CommandContext): Command {
  return new Command('verify')
    .summary('check everything that is stored')
    .description('Checks every rule that recorded histories keep, and says what breaks one.')
    .action(() => runVerify(context));
}

async function runVerify(context: CommandContext): Promise<void> {
  const database = await context.openDatabase();
  const count = { domains: 0, records: 0, headers: 0, violations: 0 };
  const report = (line: string) => {
    count.violations += 1;
    context.stdout.write(`${line}\n`);
  };
  const hideProgress = showProgress(context.stderr, 'domains', () => ({
    done: 0,
    total: null,
    items: count.domains,
  }));
  try {
    for await (const history of readHistories(database.pool)) {
      count.domains += 1;
      count.records += history.stays.length;
      count.headers += history.headers.length;
      for (const violation of findViolations(history)) {
        report(`${history.name}: ${violation}`);
      }
    }
    for (const name of await findOrphans(database.pool)) {
      report(`${name}: records or headers without a row for the domain`);
    }
  } finally {
    hideProgress();
    await database.close();
  }
  const { domains, records, headers, violations } = count;
  const checked = `${domains} domains, ${records} DNS record entries, ${headers} header changes`;
  if (violations > 0) {
    throw new OperationError(`${violations} violations in ${checked}; each is a line above.`);
  }
  context.stdout.write(`No violations in ${checked}.\n`);
}
