/** A query that asks for more than one request may. The message says what is too much. */
export class QueryTooComplexError extends Error {
  override readonly name = 'QueryTooComplexError';
  /** What the query costs, where it is that which is too much. */
  readonly cost: number | undefined;

  constructor(message: string, cost?: number) {
    super(message);
    this.cost = cost;
  }
}

/** @throws QueryTooComplexError */
export function refuse(reason: string, cost?: number): never {
  throw new QueryTooComplexError(`${reason} Ask for less in one request.`, cost);
}
