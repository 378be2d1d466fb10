import type { Ask, Asking, Question } from '../asking.js';
import type { Database } from '../database/client.js';
import { OperationError, PublicError, UsageError } from '../model/errors.js';
import type { CommandContext } from './command-context.js';

/**
 * Asks the database as the API does.
 *
 * @throws UsageError for what is not valid in a question, OperationError for what is not recorded.
 */
export async function withQuestions<Result>(
  context: CommandContext,
  work: (asking: Asking, database: Database) => Promise<Result>,
): Promise<Result> {
  return context.withDatabase('fail', async (database) => {
    const { createAsking } = await import('../asking.js');
    try {
      return await work(createAsking(database), database);
    } catch (error) {
      if (!(error instanceof PublicError)) throw error;
      if (!error.code.startsWith('INVALID_')) throw new OperationError(error.message);
      throw new UsageError(error.message.replace(PARAMETER, (name) => optionOf(name)));
    }
  });
}

/** Messages of REST begin with the name of the parameter that is wrong. */
const PARAMETER = /^[a-z][A-Za-z]*(?=:)/;

/** The option that has the name of a parameter of REST: `seenFrom` is `--seen-from`. */
export function optionOf(parameter: string): string {
  return `--${parameter.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

type Page<Item> = Readonly<{ changes?: readonly Item[]; matches?: readonly Item[]; next: string | null }>;

/** All pages of a list, as large as they can be. */
export async function* pagesOf<Item>(ask: Ask, question: Question): AsyncGenerator<readonly Item[]> {
  let after: string | undefined;
  do {
    const parameters = { first: '500', ...question.parameters, after };
    const { changes, matches = [], next } = await ask<Page<Item>>({ ...question, parameters });
    yield changes ?? matches;
    after = next ?? undefined;
  } while (after !== undefined);
}
