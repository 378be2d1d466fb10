import { createInterface } from 'node:readline/promises';
import { OperationError, UsageError } from '../../model/errors.js';
import { watchedAmong } from '../../observer/schedule/watch-list.js';
import { forget } from '../../recorder/forget.js';
import type { CommandContext } from '../command-context.js';
import { readDomains } from '../domain-arguments.js';

/** So many are erased in one transaction: recorders may have to wait for it. */
const ERASED_AT_ONCE = 500;

export async function runForget(
  context: CommandContext,
  texts: readonly string[],
  options: { yes: boolean },
) {
  if (!options.yes && texts.includes('-'))
    throw new UsageError('Standard input cannot name the domains and confirm: add --yes.');
  const names = await readDomains(context, texts);
  if (!options.yes && !(await confirmed(context, names))) return void context.note('Nothing was erased.\n');
  await context.withDatabase('fail', async (database) => {
    const missing = new Set(names);
    for (let from = 0; from < names.length; from += ERASED_AT_ONCE) {
      const erased = await forget(database, names.slice(from, from + ERASED_AT_ONCE));
      for (const name of erased) missing.delete(name);
      await context.sumUp(erased.map((name) => `erased ${name}\n`).join(''));
    }
    for (const name of await watchedAmong(database.writingPrisma, names)) {
      context.note(
        `${name} is still watched, and will be recorded again when it is due: dms watch remove ${name}\n`,
      );
    }
    if (missing.size > 0) throw new OperationError(`No history is recorded for ${[...missing].join(', ')}.`);
  });
}

async function confirmed({ stdin, stderr }: CommandContext, names: readonly string[]): Promise<boolean> {
  if (stdin.isTTY !== true) throw new UsageError('To erase without a terminal, add --yes.');
  const terminal = createInterface({ input: stdin, output: stderr });
  try {
    const answer = await terminal.question(`Erase the history of ${names.join(', ')} for good? [y/N] `);
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    terminal.close();
  }
}
