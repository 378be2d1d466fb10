import type { RequestBudget } from './request-budget.js';
import type { InParts } from './select-entries.js';
import { type Selecting, sizeOfObjects } from './selection-size.js';

/** What selects the entries of a list. */
type Select<Entry> = () => InParts<readonly Entry[]>;

/** The entries of a list, once the request's budget has room for what is selected of them; none for a result that is not sent. */
export function granted<Entry extends object>(
  select: Select<Entry>,
  typeOf: (entry: Entry) => string,
  budget: RequestBudget,
  selecting: Selecting,
): readonly Entry[] | Promise<readonly Entry[]> {
  return budget.inTurns(() => grantedInParts(select, typeOf, budget, selecting));
}

/** Not a function of each call: V8 makes a prototype and a map for each generator function, which took 25 µs of a request. */
function* grantedInParts<Entry extends object>(
  select: Select<Entry>,
  typeOf: (entry: Entry) => string,
  budget: RequestBudget,
  selecting: Selecting,
): InParts<readonly Entry[] | Promise<readonly Entry[]>> {
  if (budget.isOver) return [];
  if (!budget.limited) return yield* select();
  const left = budget.left();
  const entries = yield* select();
  const payment = budget.take(yield* sizeOfObjects(entries, typeOf, selecting, left));
  return payment === undefined ? entries : payment.then(() => entries);
}

/** All entries of a list. */
export function allOf<Entry>(entries: readonly Entry[]): Select<Entry> {
  return () => all(entries);
}

// biome-ignore lint/correctness/useYield: it selects nothing
function* all<Entry>(entries: readonly Entry[]): InParts<readonly Entry[]> {
  return entries;
}
