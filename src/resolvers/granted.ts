import type { RequestBudget } from './request-budget.js';
import type { InParts } from './select-entries.js';
import { type Selecting, sizeOfObjects } from './selection-size.js';

/** The entries of a list, once the request's budget has room for what is selected of them; none for a result that is not sent. */
export function granted<Entry extends object>(
  select: () => InParts<readonly Entry[]>,
  typeOf: (entry: Entry) => string,
  budget: RequestBudget,
  selecting: Selecting,
): readonly Entry[] | Promise<readonly Entry[]> {
  return budget.inTurns(function* (): InParts<readonly Entry[] | Promise<readonly Entry[]>> {
    if (budget.isOver) return [];
    if (!budget.limited) return yield* select();
    const left = budget.left();
    const entries = yield* select();
    const payment = budget.take(yield* sizeOfObjects(entries, typeOf, selecting, left));
    return payment === undefined ? entries : payment.then(() => entries);
  });
}

/** All entries of a list. */
export function allOf<Entry>(entries: readonly Entry[]): () => InParts<readonly Entry[]> {
  // biome-ignore lint/correctness/useYield: it selects nothing
  return function* () {
    return entries;
  };
}
