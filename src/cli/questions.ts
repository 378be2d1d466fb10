import type { Ask, Asking, Question } from '../asking.js';
import { OperationError, PublicError, UsageError } from '../model/errors.js';
import type { CommandContext } from './command-context.js';

/**
 * Asks the database as the API does.
 *
 * @throws UsageError for what is not valid in a question, OperationError for what is not recorded.
 */
export async function withQuestions(
  context: CommandContext,
  work: (asking: Asking) => Promise<void>,
): Promise<void> {
  await context.withDatabase('fail', async (database) => {
    const { createAsking } = await import('../asking.js');
    try {
      await work(createAsking(database));
    } catch (error) {
      if (!(error instanceof PublicError)) throw error;
      throw error.code.startsWith('INVALID_')
        ? new UsageError(error.message)
        : new OperationError(error.message);
    }
  });
}

/** A page of a list as REST has it. */
type Page<Name extends string, Item> = Readonly<Record<Name, readonly Item[]>> & {
  readonly next: string | null;
};

/** All pages of a list, as large as they can be. @param list The member of the body that has the items. */
export async function* pagesOf<Item>(
  ask: Ask,
  operation: string,
  list: 'changes' | 'matches',
  parameters: Question['parameters'],
): AsyncGenerator<readonly Item[]> {
  let after: string | undefined;
  do {
    const page: Page<'changes' | 'matches', Item> = await ask({
      operation,
      parameters: { first: '500', ...parameters, after },
    });
    yield page[list];
    after = page.next ?? undefined;
  } while (after !== undefined);
}
