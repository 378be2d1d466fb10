import type { Ask, Asking, Question } from '../asking.js';
import type { Database } from '../database/client.js';
import { OperationError, PublicError, UsageError } from '../model/errors.js';
import type { CommandContext } from './command-context.js';

/** @throws UsageError for what is not valid in a question, OperationError for what is not recorded. */
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
      throw new UsageError(error.message.replace(PARAMETER, optionOf));
    }
  });
}

/** Messages of REST begin with the name of the parameter that is wrong. */
const PARAMETER = /^[a-z][A-Za-z]*(?=:)/;

/** `seenFrom` of REST is `--seen-from`. */
export function optionOf(parameter: string): string {
  return `--${parameter.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

type Page<Item> = Readonly<{ changes?: readonly Item[]; matches?: readonly Item[]; next: string | null }>;

export async function* pagesOf<Item>(
  ask: Ask,
  question: Question,
  limit = Number.POSITIVE_INFINITY,
): AsyncGenerator<readonly Item[]> {
  let after: string | undefined;
  let left = limit;
  do {
    const parameters = { ...question.parameters, first: String(Math.min(left, 500)), after };
    const { changes, matches = [], next } = await ask<Page<Item>>({ ...question, parameters });
    const items = changes ?? matches;
    yield items;
    left -= items.length;
    after = next ?? undefined;
  } while (after !== undefined && left > 0);
}
