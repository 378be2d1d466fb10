/** What work that is done in parts returns, with all parts done at once. */
export function atOnce<Result>(work: Generator<unknown, Result>): Result {
  for (let part = work.next(); ; part = work.next()) if (part.done === true) return part.value;
}
